#include "host/devices/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace nerve::host {
namespace {

std::uint32_t mtu_of(const std::string& name) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  const int failed = ::ioctl(fd, SIOCGIFMTU, &request);
  ::close(fd);
  return failed != 0 ? 0 : static_cast<std::uint32_t>(request.ifr_mtu);
}

wire::Gid gid_of(const sockaddr_in& address) {
  std::array<std::uint8_t, 4> bytes{};
  std::memcpy(bytes.data(), &address.sin_addr, bytes.size());
  return wire::Gid::ipv4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

wire::Gid gid_of(const sockaddr_in6& address) {
  wire::Gid gid;
  std::memcpy(gid.bytes.data(), &address.sin6_addr, gid.bytes.size());
  return gid;
}

// GIDs are sorted in the order in which the kernel's RoCE devices fill their tables.
int rank_of(const wire::Gid& gid) {
  if (gid.is_ipv4()) return 1;
  return gid.bytes[0] == std::byte{0xfe} && (gid.bytes[1] & std::byte{0xc0}) == std::byte{0x80} ? 0
                                                                                                : 2;
}

void add_address(Interface& interface, const sockaddr& address) {
  switch (address.sa_family) {
    case AF_INET:
      interface.addresses.push_back(gid_of(reinterpret_cast<const sockaddr_in&>(address)));
      break;
    case AF_INET6:
      interface.addresses.push_back(gid_of(reinterpret_cast<const sockaddr_in6&>(address)));
      break;
    case AF_PACKET: {
      const auto& link = reinterpret_cast<const sockaddr_ll&>(address);
      if (link.sll_halen == interface.mac.size()) {
        std::memcpy(interface.mac.data(), link.sll_addr, interface.mac.size());
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace

std::vector<Interface> list_interfaces() {
  std::vector<Interface> found;
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return found;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list{raw, ::freeifaddrs};
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    auto it = std::ranges::find(found, entry->ifa_name, &Interface::name);
    if (it == found.end()) {
      Interface fresh;
      fresh.name = entry->ifa_name;
      fresh.index = ::if_nametoindex(entry->ifa_name);
      fresh.mtu = mtu_of(fresh.name);
      fresh.up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_RUNNING) != 0;
      fresh.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
      it = found.insert(found.end(), std::move(fresh));
    }
    if (entry->ifa_addr != nullptr) add_address(*it, *entry->ifa_addr);
  }
  std::ranges::sort(found, {}, &Interface::index);
  for (Interface& interface : found) std::ranges::stable_sort(interface.addresses, {}, rank_of);
  return found;
}

}  // namespace nerve::host
