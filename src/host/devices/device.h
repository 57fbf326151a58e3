// What a program sees of a device before it opens it: a network interface under a NIC's name.
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
  std::uint64_t node_guid{};  // as a number
  nic::Mtu active_mtu{nic::Mtu::k1024};
  bool up{true};
  std::vector<wire::Gid> gids;  // as many as the table holds, from index 0
};

// A device that the user named: `nerve0=eth0`.
struct DeviceName {
  std::string name;
  std::string interface;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

// The GIDs of an interface: as many of its addresses as the table holds.
[[nodiscard]] std::vector<wire::Gid> gids_of(const Interface& interface);

// With names, those and no others. Without, each interface that is up and has an address; the
// loopback interface when it is all there is. One that is in use keeps its number, whatever has
// come or gone beside it.
[[nodiscard]] std::vector<Device> choose_devices(std::span<const Interface> interfaces,
                                                 std::span<const DeviceName> names,
                                                 std::span<const Device> in_use = {});

}  // namespace nerve::host
