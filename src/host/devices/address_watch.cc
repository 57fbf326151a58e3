#include "host/devices/address_watch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>

namespace nerve::host {

link::Descriptor watch_addresses() {
  link::Descriptor socket{
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)};
  sockaddr_nl name{};
  name.nl_family = AF_NETLINK;
  name.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) {
    return {};
  }
  return socket;
}

void drain_notifications(int descriptor) {
  // The messages are discarded: the whole interface list is small and is read again.
  std::array<std::byte, 8192> news;
  while (::recv(descriptor, news.data(), news.size(), MSG_DONTWAIT | MSG_TRUNC) > 0) {
  }
}

}  // namespace nerve::host
