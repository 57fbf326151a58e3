#include "link/udp/udp_link.h"

#include <cerrno>
#include <string>

namespace nerve::link {

Result<std::unique_ptr<UdpLink>, SocketError> UdpLink::open(PortGroup group,
                                                            const UdpLinkConfig& config) {
  if (config.index >= group.size()) {
    return Unexpected{SocketError{EINVAL, "udp port " + std::to_string(group.port()) + ": socket " +
                                              std::to_string(config.index) + " of a group of " +
                                              std::to_string(group.size())}};
  }
  auto sender = UdpSender::open({.port = group.port(),
                                 .family = group.family(),
                                 .max_sockets = config.max_senders,
                                 .segmentation = config.segmentation});
  if (!sender) return Unexpected{sender.error()};
  return std::unique_ptr<UdpLink>{new UdpLink{std::move(group), *std::move(sender), config.index}};
}

Offloads UdpLink::offloads() const {
  return {.segmentation = sender_->segmentation(),
          .receive_coalescing = receiver_.coalescing(),
          .ipv6 = {.works = group_.family() == IpFamily::kDual,
                   .reason = group_.family() == IpFamily::kDual ? "" : "the port is IPv4 alone"},
          .send_buffer = sender_->buffer(),
          .receive_buffer = receiver_.buffer()};
}

}  // namespace nerve::link
