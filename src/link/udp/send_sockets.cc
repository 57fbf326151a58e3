#include "link/udp/send_sockets.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

namespace nerve::link {
namespace {

constexpr int kHopLimit = 64;

void set_send_options(const UdpSocket& socket, IpFamily family, int buffer) {
  // An unconnected socket with IP_PMTUDISC_DO makes the kernel write identification 0, which the
  // ICRC covers.
  (void)socket.set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
  (void)socket.set(IPPROTO_IP, IP_TTL, kHopLimit);
  (void)socket.set(IPPROTO_IP, IP_MULTICAST_TTL, kHopLimit);
  (void)socket.set(IPPROTO_IP, IP_MULTICAST_LOOP, 1);
  if (family == IpFamily::kDual) {
    (void)socket.set(IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
    (void)socket.set(IPPROTO_IPV6, IPV6_UNICAST_HOPS, kHopLimit);
    (void)socket.set(IPPROTO_IPV6, IPV6_MULTICAST_HOPS, kHopLimit);
    (void)socket.set(IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
  }
  (void)socket.grow_buffer(SO_SNDBUF, SO_SNDBUFFORCE, buffer);
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{.len = 1, .filter = &nothing};
  (void)::setsockopt(socket.fd(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

}  // namespace

Result<SendSockets::Entry, SocketError> SendSockets::make(std::uint16_t wanted) const {
  auto socket = UdpSocket::make(family_);
  if (!socket) return Unexpected{socket.error()};
  int error = wanted != 0 ? socket->bind(family_, wanted) : -1;
  if (error != 0) error = socket->bind(family_, 0);
  if (error != 0) return Unexpected{socket_error("udp", "bind to any port", error)};
  set_send_options(*socket, family_, buffer_);
  const std::uint16_t bound = socket->bound_port();
  return Entry{.socket = *std::move(socket), .wanted = wanted, .bound = bound, .used = {}};
}

Result<SendSockets, SocketError> SendSockets::open(IpFamily family, std::size_t limit, int buffer) {
  SendSockets sockets;
  sockets.family_ = family;
  sockets.buffer_ = buffer;
  sockets.limit_ = std::clamp<std::size_t>(limit, 1, kMaxSockets);
  auto first = sockets.make(0);
  if (!first) return Unexpected{first.error()};
  sockets.entries_.push_back(*std::move(first));
  return sockets;
}

SendSocket SendSockets::for_port(std::uint16_t wanted, Time now) {
  if (now - looked_at_ >= kForgotten / 4 || now < looked_at_) [[unlikely]]
    close_forgotten(now);
  Entry& entry = entries_[index_for(wanted, now)];
  entry.used = now;
  return {.fd = entry.socket.fd(), .port = entry.bound};
}

bool SendSockets::has(std::uint16_t port) const {
  return std::ranges::find(entries_, port, &Entry::bound) != entries_.end();
}

std::uint16_t SendSockets::port_for(std::uint16_t wanted, Time now) const {
  const auto known = std::ranges::find(entries_, wanted, &Entry::wanted);
  if (known != entries_.end()) return known->bound;
  return place(now) ? wanted : entries_[wanted % entries_.size()].bound;
}

std::optional<std::size_t> SendSockets::place(Time now) const {
  if (first_is_free_) return 0;
  if (entries_.size() < limit_) return entries_.size();
  const auto longest =
      std::ranges::max_element(entries_, {}, [&](const Entry& one) { return now - one.used; });
  if (now - longest->used < kIdle) return std::nullopt;
  return static_cast<std::size_t>(longest - entries_.begin());
}

void SendSockets::close_forgotten(Time now) {
  looked_at_ = now;
  const auto is_forgotten = [&](const Entry& one) { return now - one.used >= kForgotten; };
  // One remains: for what is asked of any socket, and for a machine without descriptors.
  entries_.erase(std::remove_if(entries_.begin() + 1, entries_.end(), is_forgotten),
                 entries_.end());
}

std::size_t SendSockets::index_for(std::uint16_t wanted, Time now) {
  const auto known =
      std::ranges::find(entries_, wanted, [](const Entry& entry) { return entry.wanted; });
  if (known != entries_.end()) return static_cast<std::size_t>(known - entries_.begin());
  const auto at = place(now);
  if (!at) return wanted % entries_.size();
  auto made = make(wanted);
  if (!made) {
    limit_ = entries_.size();  // out of descriptors: share the existing sockets
    first_is_free_ = false;
    return wanted % entries_.size();
  }
  first_is_free_ = false;
  if (*at == entries_.size()) {
    entries_.push_back(*std::move(made));
  } else {
    entries_[*at] = *std::move(made);
  }
  return *at;
}

}  // namespace nerve::link
