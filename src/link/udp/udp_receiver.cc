#include "link/udp/udp_receiver.h"

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.h"
#include "link/system_calls.h"
#include "link/udp/address.h"
#include "wire/icrc.h"

namespace nerve::link {
namespace {

constexpr std::size_t kMinPacket = wire::Bth::kSize + wire::kIcrcSize;
// Limit on the bytes of one read, unless messages are small: the first of them should still be in
// the cache when the last has been read.
constexpr std::size_t kReadBytes = 64U << 10U;

}  // namespace

UdpReceiver::UdpReceiver(const UdpSocket& socket, std::uint16_t port, Unread unread)
    : socket_{socket},
      port_{port},
      buffer_{new std::byte[kMaxMessages * kMessageSize]},
      slots_(kMaxMessages),
      headers_(kMaxMessages),
      frames_(kBatch),
      pieces_(kBatch) {
  for (std::size_t i = 0; i < kMaxMessages; ++i) {
    Slot& slot = slots_[i];
    slot.bytes = {.iov_base = buffer_.get() + i * kMessageSize, .iov_len = kMessageSize};
    msghdr& header = headers_[i].msg_hdr;
    header.msg_name = &slot.name;
    header.msg_iov = &slot.bytes;
    header.msg_iovlen = 1;
    header.msg_control = slot.control;
  }
  if (unread == Unread::kDiscard) discard_stale();
}

void UdpReceiver::discard_stale() {
  // Bounded, because a flood must not prevent a process from starting.
  for (int reads = 0; reads < 1000 && read(kMaxMessages) > 0; ++reads) {
  }
}

int UdpReceiver::read(std::size_t messages) {
  for (std::size_t i = 0; i < messages; ++i) {
    msghdr& header = headers_[i].msg_hdr;
    header.msg_namelen = sizeof slots_[i].name;
    header.msg_controllen = sizeof slots_[i].control;
  }
  int got = 0;
  do {
    ++counters_.calls;
    got = system::recvmmsg(socket_.fd(), headers_.data(), static_cast<unsigned>(messages),
                           MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  return got;
}

std::size_t UdpReceiver::messages_for(std::size_t budget) const {
  const std::size_t by_packets = budget / packets_per_message_ + 1;
  const std::size_t by_bytes = kReadBytes / std::max<std::size_t>(bytes_per_message_, 1);
  return std::clamp<std::size_t>(std::min(by_packets, by_bytes), 1, kMaxMessages);
}

std::size_t UdpReceiver::receive(FrameSink& sink, std::size_t budget, Time now) {
  const std::uint64_t before = counters_.packets;
  for (std::size_t seen = 0; seen < budget;) {
    const std::size_t asked = messages_for(budget - seen);
    const int got = read(asked);
    if (got <= 0) break;
    std::size_t packets = 0;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
      packets += take_message(i, sink, now);
      bytes += headers_[i].msg_len;
    }
    deliver(sink, now);
    counters_.messages += static_cast<std::uint64_t>(got);
    packets_per_message_ = std::max<std::size_t>(packets / static_cast<std::size_t>(got), 1);
    bytes_per_message_ = bytes / static_cast<std::size_t>(got);
    seen += std::max<std::size_t>(packets, 1);
    if (static_cast<std::size_t>(got) < asked) break;  // the queue is empty now
  }
  return static_cast<std::size_t>(counters_.packets - before);
}

std::size_t UdpReceiver::take_message(std::size_t index, FrameSink& sink, Time now) {
  mmsghdr& header = headers_[index];
  MutableBytes rest{buffer_.get() + index * kMessageSize, header.msg_len};
  const ReceivedFrom from = read_origin(header.msg_hdr);
  const std::size_t segment = from.segment != 0 ? from.segment : rest.size();
  if (segment < kMinPacket || segment > wire::kMaxUdpPayload ||
      (header.msg_hdr.msg_flags & MSG_TRUNC) != 0) {
    ++counters_.malformed;
    return 1;
  }
  expected_ = {};
  std::size_t packets = 0;
  wire::OuterSum* outer = &outer_of(from.flow, segment);
  for (; !rest.empty(); ++packets) {
    const std::size_t size = std::min(segment, rest.size());
    if (size < kMinPacket) {
      ++counters_.malformed;
      return packets + 1;
    }
    if (size != segment) outer = &outer_of(from.flow, size);
    if (batched_ == kBatch) deliver(sink, now);
    const MutableBytes packet = rest.first(size);
    if (seal::is_sealed(packet)) {
      take_sealed(from.flow, packet, now);
    } else {
      take_packet(from.flow, *outer, packet);
    }
    rest = rest.subspan(size);
  }
  return packets;
}

wire::OuterSum& UdpReceiver::outer_of(const wire::Flow& flow, std::size_t size) {
  if (size != outer_size_ || !(flow == outer_flow_)) {
    outer_ = {flow, size, port_};
    outer_flow_ = flow;
    outer_size_ = size;
  }
  return outer_;
}

void UdpReceiver::take_packet(const wire::Flow& flow, wire::OuterSum& outer, Bytes bytes) {
  wire::Frame& frame = frames_[batched_];
  const auto packet =
      wire::decode_after_sum(outer, expected_.next(), bytes, frame, pieces_[batched_]);
  if (!packet) {
    ++counters_.malformed;
    return;
  }
  if (packet->icrc != wire::IcrcVerdict::kGood) {
    ++counters_.bad_icrc;
    return;
  }
  if (packet->identification != expected_.next()) ++counters_.solved;
  expected_.learn(packet->identification);
  ++counters_.packets;
  counters_.bytes += bytes.size();
  frame.flow = flow;
  frame.sealed = false;
  ++batched_;
}

void UdpReceiver::take_sealed(const wire::Flow& flow, MutableBytes packet, Time now) {
  seal::Opener* const opener = sealing_ != nullptr ? sealing_->opener_of(flow, packet) : nullptr;
  if (opener == nullptr) return take_closed(flow, packet);
  wire::Frame& frame = frames_[batched_];
  const auto opening = opener->receive(flow, packet, now, frame, pieces_[batched_]);
  if (opening == seal::Opening::kEmpty) return;
  if (opening != seal::Opening::kGood) {
    ++counters_.bad_seal;
    return;
  }
  ++counters_.packets;
  counters_.bytes += packet.size();
  frame.sealed = true;
  ++batched_;
}

// It may be for another process that reads this socket, which has the keys.
void UdpReceiver::take_closed(const wire::Flow& flow, Bytes packet) {
  const Bytes payload = packet.subspan(wire::Bth::kSize);
  wire::Piece& piece = pieces_[batched_];
  piece = {.address = reinterpret_cast<std::uint64_t>(payload.data()),
           .length = static_cast<std::uint32_t>(payload.size())};
  wire::Frame& frame = frames_[batched_];
  frame = {.flow = flow, .payload = {&piece, 1}, .payload_length = piece.length};
  wire::Bth::decode_into(packet.first<wire::Bth::kSize>(), frame.headers.bth);
  ++counters_.closed;
  ++batched_;
}

void UdpReceiver::deliver(FrameSink& sink, Time now) {
  if (batched_ == 0) return;
  sink.deliver({frames_.data(), batched_}, now);
  batched_ = 0;
}

int UdpReceiver::join(const wire::Gid& group, std::uint32_t interface) {
  if (!group.is_multicast()) return EINVAL;
  return set_membership(group, interface, IP_ADD_MEMBERSHIP, IPV6_JOIN_GROUP);
}

int UdpReceiver::leave(const wire::Gid& group, std::uint32_t interface) {
  return set_membership(group, interface, IP_DROP_MEMBERSHIP, IPV6_LEAVE_GROUP);
}

int UdpReceiver::set_membership(const wire::Gid& group, std::uint32_t interface, int ipv4_option,
                                int ipv6_option) {
  int result = 0;
  if (group.is_ipv4()) {
    ip_mreqn request{};
    request.imr_multiaddr = ipv4_of(group);
    request.imr_ifindex = static_cast<int>(interface);
    result = ::setsockopt(fd(), IPPROTO_IP, ipv4_option, &request, sizeof request);
  } else {
    const ipv6_mreq request{.ipv6mr_multiaddr = ipv6_of(group), .ipv6mr_interface = interface};
    result = ::setsockopt(fd(), IPPROTO_IPV6, ipv6_option, &request, sizeof request);
  }
  return result == 0 ? 0 : errno;
}

std::uint64_t UdpReceiver::overflowed() const {
  std::array<std::uint32_t, SK_MEMINFO_VARS> values{};
  socklen_t size = sizeof values;
  if (::getsockopt(fd(), SOL_SOCKET, SO_MEMINFO, values.data(), &size) != 0) return 0;
  return values[SK_MEMINFO_DROPS];
}

Offload UdpReceiver::coalescing() const {
  if (socket_.get(IPPROTO_UDP, UDP_GRO, 0) != 0) return {.works = true, .reason{}};
  return {.works = false,
          .reason = "UDP_GRO: not supported by this kernel; Linux 5.0 or later has it"};
}

int UdpReceiver::buffer() const { return socket_.get(SOL_SOCKET, SO_RCVBUF, 0); }

}  // namespace nerve::link
