// What a program sees of a device before opening it: a network interface under an RDMA device name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/devices/interfaces.h"
#include "nic/attributes.h"
#include "wire/gid.h"

namespace nerve::host {

inline constexpr std::uint32_t kGidTableSize = 32;

struct Device {
  std::string name;       // nerve0
  std::string interface;  // eth0
  std::uint32_t interface_index{};
  std::uint32_t index{};      // among Nerve's devices
  std::uint64_t node_guid{};  // in host byte order
  nic::Mtu active_mtu{nic::Mtu::k1024};
  bool up{true};
  std::vector<wire::Gid> gids;  // at most kGidTableSize, from index 0
};

// A device that the user named: `nerve0=eth0`.
struct DeviceName {
  std::string name;
  std::string interface;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

// The GIDs of an interface: its addresses, up to kGidTableSize.
[[nodiscard]] std::vector<wire::Gid> gids_of(const Interface& interface);

// With names, exactly those devices. Without, every interface that is up and has an address, or the
// loopback interface if there is no other. An interface in use keeps its device number, whatever
// interfaces appear or disappear.
[[nodiscard]] std::vector<Device> choose_devices(std::span<const Interface> interfaces,
                                                 std::span<const DeviceName> names,
                                                 std::span<const Device> in_use = {});

}  // namespace nerve::host
