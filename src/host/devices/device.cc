#include "host/devices/device.h"

#include <algorithm>

namespace nerve::host {
namespace {

nic::Mtu largest_mtu(std::uint32_t interface_mtu) {
  // IPv6, UDP, the longest transport headers, pad and ICRC; Linux's RoCE devices reserve the same.
  constexpr std::uint32_t kHeaders = 80;
  for (const nic::Mtu mtu : {nic::Mtu::k4096, nic::Mtu::k2048, nic::Mtu::k1024, nic::Mtu::k512}) {
    if (nic::bytes(mtu) + kHeaders <= interface_mtu) return mtu;
  }
  return nic::Mtu::k256;
}

// EUI-64 from the MAC. A loopback interface has no MAC, so its index is used.
std::uint64_t guid_of(const Interface& interface) {
  std::uint64_t mac = 0;
  for (const std::byte byte : interface.mac) {
    mac = mac << 8U | std::to_integer<std::uint64_t>(byte);
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
                                   std::span<const DeviceName> names,
                                   std::span<const Device> in_use) {
  std::vector<Device> devices;
  if (!names.empty()) {
    for (const DeviceName& wanted : names) {
      const auto it = std::ranges::find(interfaces, wanted.interface, &Interface::name);
      if (it == interfaces.end()) continue;
      devices.push_back(make_device(*it, wanted.name, static_cast<std::uint32_t>(devices.size())));
    }
    return devices;
  }
  std::uint32_t next = 0;
  const auto number_of = [&](const Interface& interface) {
    const auto kept = std::ranges::find(in_use, interface.name, &Device::interface);
    if (kept != in_use.end()) return kept->index;
    while (std::ranges::find(in_use, next, &Device::index) != in_use.end()) ++next;
    return next++;
  };
  const auto offer = [&](bool loopback) {
    for (const Interface& interface : interfaces) {
      if (interface.loopback != loopback || !interface.up || interface.addresses.empty()) continue;
      const std::uint32_t number = number_of(interface);
      devices.push_back(make_device(interface, "nerve" + std::to_string(number), number));
    }
  };
  offer(false);
  if (devices.empty()) offer(true);
  return devices;
}

}  // namespace nerve::host
