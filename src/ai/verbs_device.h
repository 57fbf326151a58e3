// An RDMA device of a group: its context, PD, CQ and the address of the port that the group uses.
// Public verbs only.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <vector>

#include "ai/error.h"

namespace nerve::ai {

// Destroys what it holds in the reverse order of creation.
class VerbsDevice {
 public:
  static Result<VerbsDevice, Error> open(ibv_device* device, int cq_entries);
  VerbsDevice(VerbsDevice&& from) noexcept { swap(from); }
  VerbsDevice& operator=(VerbsDevice&& from) noexcept {
    swap(from);
    return *this;
  }
  VerbsDevice(const VerbsDevice&) = delete;
  VerbsDevice& operator=(const VerbsDevice&) = delete;
  ~VerbsDevice();

  [[nodiscard]] const char* name() const { return ibv_get_device_name(context->device); }

  ibv_context* context{};
  ibv_pd* pd{};
  ibv_comp_channel* channel{};
  ibv_cq* cq{};
  std::uint8_t port{};
  ibv_port_attr port_attr{};
  int gid_index{};
  ibv_gid gid{};
  bool on_demand{};  // registrations follow changes of the memory map
  int read_depth{};

 private:
  VerbsDevice() = default;
  void swap(VerbsDevice& other) noexcept;
  bool find_port();
  void choose_gid();
};

// The devices with these names; with no names, all that have an active port, but those with a
// loopback address only if there is no other.
Result<std::vector<VerbsDevice>, Error> open_devices(const std::vector<std::string>& names,
                                                     int cq_entries);

}  // namespace nerve::ai
