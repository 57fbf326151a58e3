#include "host/device.h"

#include <algorithm>

namespace nerve::host {
namespace {

nic::Mtu largest_mtu(std::uint32_t interface_mtu) {
  // IPv6, UDP, the longest transport headers, pad and ICRC: what Linux's own RoCE devices allow
  // for.
  constexpr std::uint32_t kHeaders = 80;
  for (const nic::Mtu mtu : {nic::Mtu::k4096, nic::Mtu::k2048, nic::Mtu::k1024, nic::Mtu::k512}) {
    if (nic::octets(mtu) + kHeaders <= interface_mtu) return mtu;
  }
  return nic::Mtu::k256;
}

// EUI-64 from the MAC. A loopback interface has none: its index must do.
std::uint64_t guid_of(const Interface& interface) {
  std::uint64_t mac = 0;
  for (const std::byte octet : interface.mac) {
    mac = mac << 8U | std::to_integer<std::uint64_t>(octet);
  }
  if (mac == 0) mac = 0x02'0000'0000'00U + interface.index;
  return ((mac >> 24U << 40U) | (std::uint64_t{0xfffe} << 24U) | (mac & 0xff'ffffU)) ^
         (std::uint64_t{2} << 56U);
}

Device make_device(const Interface& interface, std::string name, std::uint32_t index) {
  return {.name = std::move(name),
          .interface = interface.name,
          .interface_index = interface.index,
          .index = index,
          .node_guid = guid_of(interface),
          .active_mtu = largest_mtu(interface.mtu),
          .up = interface.up,
          .gids = gids_of(interface)};
}

}  // namespace

std::vector<wire::Gid> gids_of(const Interface& interface) {
  const std::size_t count = std::min<std::size_t>(interface.addresses.size(), kGidTableSize);
  return {interface.addresses.begin(),
          interface.addresses.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::vector<Device> choose_devices(std::span<const Interface> interfaces,
                                   std::span<const DeviceName> names) {
  std::vector<Device> devices;
  const auto add = [&](const Interface& interface, std::string name) {
    const auto index = static_cast<std::uint32_t>(devices.size());
    devices.push_back(make_device(interface, std::move(name), index));
  };
  if (!names.empty()) {
    for (const DeviceName& wanted : names) {
      const auto it = std::ranges::find(interfaces, wanted.interface, &Interface::name);
      if (it != interfaces.end()) add(*it, wanted.name);
    }
    return devices;
  }
  const auto offer = [&](bool loopback) {
    for (const Interface& interface : interfaces) {
      if (interface.loopback != loopback || !interface.up || interface.addresses.empty()) continue;
      add(interface, "nerve" + std::to_string(devices.size()));
    }
  };
  offer(false);
  if (devices.empty()) offer(true);
  return devices;
}

}  // namespace nerve::host
