// This process as a host of RDMA devices: the devices there are, the engines in use, and the
// threads, sockets and shared memory they have in common.
//
// There is one for each process. It is made when a program first asks for devices, and made anew in
// the child of a fork(), where nothing of the parent's is usable.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/adapter.h"
#include "host/config/config.h"
#include "host/devices/device.h"
#include "host/peers/port_space.h"

namespace nerve::host {

// How many forks lie between the first process that used the library and this one. What was made in
// another generation is the parent's.
[[nodiscard]] std::uint32_t generation();

// The devices of a process with this configuration, as the machine's interfaces are now.
[[nodiscard]] std::vector<Device> devices_of(const Config& config,
                                             std::span<const Device> in_use = {});

// Who is told that interfaces or addresses have changed, after the adapters know. Called by the
// background thread, without the host's lock.
class DeviceListener {
 public:
  virtual ~DeviceListener() = default;
  virtual void on_devices_changed() = 0;
};

class Shard;

class Host {
 public:
  // The host of the calling process.
  static Host& current();

  // As the machine's interfaces are now.
  [[nodiscard]] std::vector<Device> devices();

  // The adapter of a device: made on first use, shared from then on. Null, and errno, when this
  // process cannot become a host now (no descriptors or memory left).
  [[nodiscard]] std::shared_ptr<Adapter> open(const Device& device);

  // From now on this process takes part in the CM of its host: it reads what comes for QP1, and has
  // a hand in the table of ports. That table; null, and errno, when it cannot be had.
  [[nodiscard]] PortSpace* use_cm();

  // One for the process, for as long as it lives.
  void listen_devices(DeviceListener& listener);

 private:
  friend class Adapter;
  static Shard* primary_of_current();
  static void finish_current();
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();
  Host() = default;
  ~Host() = delete;
  // Null, and errno, when it cannot be had; what was lacking may be there at the next call.
  [[nodiscard]] Shard* primary();
  // False, and errno, when there is no thread to be had.
  [[nodiscard]] static bool start(Shard& primary);
  std::atomic<Shard*> primary_{};  // for as long as the process lives
};

}  // namespace nerve::host
