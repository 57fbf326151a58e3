#include "cli/probe_sockets.h"

#include <linux/errqueue.h>
#include <linux/filter.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nerve::cli {
namespace {

using host::Descriptor;

// Six bytes, so a filter that looks for the QPN finds none.
constexpr std::array<std::uint8_t, 5> kMark{'N', 'R', 'V', 'P', 0};
using Payload = std::array<std::uint8_t, kMark.size() + 1>;

Payload payload_of(std::uint8_t hop_limit) {
  Payload payload{};
  std::ranges::copy(kMark, payload.begin());
  payload.back() = hop_limit;
  return payload;
}

struct Name {
  sockaddr_storage address{};
  socklen_t size{};
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Name name_of(const wire::Gid& gid, std::uint16_t port) {
  constexpr std::size_t kIpv4At = 12;
  Name name;
  if (gid.is_ipv4()) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, gid.bytes.data() + kIpv4At, sizeof four.sin_addr);
    std::memcpy(&name.address, &four, name.size = sizeof four);
  } else {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&six.sin6_addr, gid.bytes.data(), sizeof six.sin6_addr);
    std::memcpy(&name.address, &six, name.size = sizeof six);
  }
  return name;
}

std::optional<wire::Gid> gid_of(Bytes name) {
  sa_family_t family = 0;
  std::memcpy(&family, name.data(), sizeof family);
  wire::Gid gid = wire::Gid::ipv4(0, 0, 0, 0);
  if (family == AF_INET) {
    std::ranges::copy(name.subspan(offsetof(sockaddr_in, sin_addr), 4), gid.bytes.begin() + 12);
    return gid;
  }
  if (family != AF_INET6) return std::nullopt;
  std::ranges::copy(name.subspan(offsetof(sockaddr_in6, sin6_addr), 16), gid.bytes.begin());
  return gid;
}

bool is_link_local(const wire::Gid& gid) {
  return gid.bytes[0] == std::byte{0xfe} && (gid.bytes[1] & std::byte{0xc0}) == std::byte{0x80};
}

void set(const Descriptor& socket, int level, int option, int value) {
  (void)::setsockopt(socket.get(), level, option, &value, sizeof value);
}

// A socket of this address alone: a server on the port at other addresses is not disturbed.
Descriptor bound(const wire::Gid& source, std::uint16_t port) {
  const bool ipv4 = source.is_ipv4();
  Descriptor socket{
      ::socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP)};
  if (!socket) return {};
  if (!ipv4) set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  const Name name = name_of(source, port);
  return ::bind(socket.get(), name.get(), name.size) == 0 ? std::move(socket) : Descriptor{};
}

// What an ICMP message from `offender` says of a probe; nothing if it is about something else.
std::optional<ProbeAnswer> answer_in(const sock_extended_err& error, Bytes offender) {
  constexpr std::uint8_t kIcmp6TimeExceeded = ICMP6_TIME_EXCEEDED;
  constexpr std::uint8_t kIcmp6Unreachable = ICMP6_DST_UNREACH;
  ProbeAnswer answer;
  if (error.ee_origin == SO_EE_ORIGIN_ICMP) {
    answer.reached = error.ee_type == ICMP_DEST_UNREACH && error.ee_code == ICMP_PORT_UNREACH;
    if (!answer.reached && error.ee_type != ICMP_TIME_EXCEEDED) return std::nullopt;
  } else if (error.ee_origin == SO_EE_ORIGIN_ICMP6) {
    answer.reached =
        error.ee_type == kIcmp6Unreachable && error.ee_code == ICMP6_DST_UNREACH_NOPORT;
    if (!answer.reached && error.ee_type != kIcmp6TimeExceeded) return std::nullopt;
  } else {
    return std::nullopt;
  }
  const auto router = gid_of(offender);
  if (!router) return std::nullopt;
  answer.router = *router;
  return answer;
}

}  // namespace

std::optional<int> ProbeSockets::open(const wire::Gid& source, std::uint16_t port,
                                      std::uint8_t traffic_class) {
  if (is_link_local(source)) return std::nullopt;  // no router forwards such packets
  Descriptor socket = bound(source, port);
  if (!socket) return std::nullopt;
  const bool ipv4 = source.is_ipv4();
  const int level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
  set(socket, level, ipv4 ? IP_RECVERR : IPV6_RECVERR, 1);
  set(socket, level, ipv4 ? IP_TOS : IPV6_TCLASS, traffic_class);
  // Nothing is received but errors.
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{.len = 1, .filter = &nothing};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  const int fd = socket.get();
  open_.push_back({.socket = std::move(socket), .ipv4 = ipv4});
  return fd;
}

void ProbeSockets::close(int socket) {
  std::erase_if(open_, [&](const Open& one) { return one.socket.get() == socket; });
}

void ProbeSockets::send(int socket, const wire::Gid& destination, std::uint8_t hop_limit) {
  const auto open =
      std::ranges::find(open_, socket, [](const Open& one) { return one.socket.get(); });
  if (open == open_.end() || open->ipv4 != destination.is_ipv4()) return;
  const bool ipv4 = open->ipv4;
  set(open->socket, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TTL : IPV6_UNICAST_HOPS, hop_limit);
  const Name name = name_of(destination, destination_port_);
  const Payload payload = payload_of(hop_limit);
  // The first call may return the error that an earlier probe has caused, instead of sending.
  for (int tries = 0; tries < 2; ++tries) {
    const ssize_t sent =
        ::sendto(socket, payload.data(), payload.size(), MSG_DONTWAIT, name.get(), name.size);
    if (sent >= 0) return;
  }
}

void ProbeSockets::add_to(std::vector<pollfd>& waiting) const {
  for (const Open& one : open_) {
    waiting.push_back({.fd = one.socket.get(), .events = 0, .revents = 0});
  }
}

std::vector<int> ProbeSockets::sockets() const {
  std::vector<int> all;
  for (const Open& one : open_) all.push_back(one.socket.get());
  return all;
}

std::optional<ProbeAnswer> ProbeSockets::receive(int socket) {
  for (;;) {
    Payload payload{};
    iovec part{.iov_base = payload.data(), .iov_len = payload.size()};
    alignas(cmsghdr) std::array<std::byte, 512> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    if (size < 0) return std::nullopt;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      const bool is_error =
          (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_RECVERR) ||
          (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_RECVERR);
      const std::size_t needed = CMSG_LEN(sizeof(sock_extended_err) + sizeof(sockaddr_in));
      if (!is_error || header->cmsg_len < needed) continue;
      std::array<std::byte, sizeof(sock_extended_err) + sizeof(sockaddr_in6)> copy{};
      std::memcpy(copy.data(), CMSG_DATA(header),
                  std::min(copy.size(), header->cmsg_len - CMSG_LEN(0)));
      sock_extended_err error{};
      std::memcpy(&error, copy.data(), sizeof error);
      auto answer = answer_in(error, Bytes{copy}.subspan(sizeof error));
      if (!answer) continue;
      answer->socket = socket;
      const bool whole = size == static_cast<ssize_t>(payload.size()) &&
                         std::equal(kMark.begin(), kMark.end(), payload.begin());
      if (whole) answer->hop_limit = payload.back();
      return answer;
    }
  }
}

}  // namespace nerve::cli
