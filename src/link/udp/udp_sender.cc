#include "link/udp/udp_sender.h"

#include <netinet/udp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "link/system_calls.h"
#include "link/udp/train.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace nerve::link {
namespace {

constexpr int kFullWaitMs = 1;

// True if the message may be accepted after the socket has drained.
bool is_full(int error) { return error == EAGAIN || error == ENOBUFS || error == ENOMEM; }

// Errors by which kernels and drivers refuse a train whose packets they would accept one by one.
bool may_refuse_trains(int error) {
  return error == EINVAL || error == EIO || error == EOPNOTSUPP || error == ENOPROTOOPT ||
         error == EMSGSIZE;
}

// Returns how many messages the kernel accepted; negative, with errno, if none.
int send_some(int fd, mmsghdr* messages, std::size_t count) {
  if (count > 1) return system::sendmmsg(fd, messages, static_cast<unsigned>(count), MSG_DONTWAIT);
  // sendmsg is cheaper for one message.
  return system::sendmsg(fd, &messages->msg_hdr, MSG_DONTWAIT) < 0 ? -1 : 1;
}

Offload segmentation_of(const UdpSocket& socket, bool wanted) {
  if (!wanted) return {.works = false, .reason = "disabled by the configuration"};
  const int error = socket.set(IPPROTO_UDP, UDP_SEGMENT, 0);
  if (error == 0) return {.works = true, .reason{}};
  return {.works = false,
          .reason =
              socket_error("UDP_SEGMENT", "setsockopt", error, "Linux 4.18 or later has it").text};
}

}  // namespace

Result<std::unique_ptr<UdpSender>, SocketError> UdpSender::open(const UdpSenderConfig& config) {
  auto sockets = SendSockets::open(config.family, config.max_sockets, config.buffer);
  if (!sockets) return Unexpected{sockets.error()};
  return std::unique_ptr<UdpSender>{new UdpSender{config, *std::move(sockets)}};
}

UdpSender::UdpSender(const UdpSenderConfig& config, SendSockets sockets)
    : config_{config},
      sockets_{std::move(sockets)},
      segmentation_{segmentation_of(sockets_.first(), config.segmentation)} {}

int UdpSender::buffer() const { return sockets_.first().get(SOL_SOCKET, SO_SNDBUF, 0); }

void UdpSender::set_interface(const wire::Gid& source, std::uint32_t index) {
  std::erase_if(interfaces_, [&](const auto& known) { return known.first == source; });
  if (index != 0) interfaces_.emplace_back(source, index);
}

std::uint32_t UdpSender::interface_of(const wire::Flow& flow) const {
  if (!needs_interface(flow.destination)) return 0;
  for (const auto& [source, index] : interfaces_) {
    if (source == flow.source) return index;
  }
  return 0;
}

bool UdpSender::can_reach(const wire::Flow& flow) const {
  const bool ipv4 = flow.destination.is_ipv4();
  return ipv4 == flow.source.is_ipv4() && (ipv4 || config_.family == IpFamily::kDual);
}

UdpSender::Run UdpSender::next_run(std::span<const wire::Frame> frames) const {
  if (sealing_ == nullptr) return {.frames = frames.size(), .way = {}};
  const auto& first = frames.front();
  const Qpn to = first.headers.bth.dest_qp;
  std::size_t run = 1;
  while (run < frames.size() && frames[run].headers.bth.dest_qp == to &&
         frames[run].flow.destination == first.flow.destination &&
         frames[run].flow.source == first.flow.source) {
    ++run;
  }
  return {.frames = run, .way = sealing_->way_of(first.flow, first.headers.bth)};
}

void UdpSender::send(std::span<const wire::Frame> frames, Time now) {
  while (!frames.empty()) {
    const Run run = next_run(frames);
    if (run.way.may_send) {
      send_run(frames.first(run.frames), run.way.sealer, now);
    } else {
      counters_.dropped_unsealed += run.frames;
    }
    frames = frames.subspan(run.frames);
  }
  flush();
}

void UdpSender::send_run(std::span<const wire::Frame> frames, seal::Sealer* sealer, Time now) {
  constexpr std::size_t kSealed = seal::kOverhead - wire::kIcrcSize;
  while (!frames.empty()) {
    const Train train = next_train(frames, segmentation_.works ? kMaxTrainPackets : 1,
                                   sealer != nullptr ? kSealed : 0);
    if (train.segment > wire::kMaxUdpPayload) {
      ++counters_.dropped_too_big;
    } else if (!can_reach(frames.front().flow)) {
      counters_.dropped_unreachable += train.packets;
    } else {
      send_train(frames.first(train.packets), train, sealer, now);
    }
    frames = frames.subspan(train.packets);
  }
}

void UdpSender::send_train(std::span<const wire::Frame> frames, const Train& train,
                           seal::Sealer* sealer, Time now) {
  const std::size_t segment = train.segment;
  const bool cut = frames.size() > 1;
  const auto [flow, room] =
      open_message(frames.front().flow, train.bytes, cut ? static_cast<std::uint16_t>(segment) : 0,
                   sealer != nullptr ? Outbox::Contents::kSealed : Outbox::Contents::kPlain, now);
  wire::OuterSum outer{flow, segment, config_.port};
  std::size_t at = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::size_t size = std::min(segment, train.bytes - at);
    const MutableBytes packet = room.subspan(at, size);
    at += size;
    if (sealer != nullptr) {
      // Without its tag a packet is dropped by its receiver.
      if (!sealer->seal(frames[i], now, packet)) std::ranges::fill(packet, std::byte{0});
      continue;
    }
    if (size != segment) outer = {flow, size, config_.port};  // the last one may be shorter
    // The kernel numbers the segments, so segment i has identification i.
    wire::encode_after_sum(frames[i], outer(static_cast<std::uint16_t>(i)), packet);
  }
}

void UdpSender::send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) {
  if (sealing_ != nullptr) {
    const auto bth = wire::Bth::decode(udp_payload);
    const auto way = bth ? sealing_->way_of(flow, *bth) : Sealing::Way{};
    if (!way.may_send) {
      ++counters_.dropped_unsealed;
      return;
    }
    if (way.sealer != nullptr) return seal_bytes(flow, udp_payload, *way.sealer, now);
  }
  if (udp_payload.size() > wire::kMaxUdpPayload) {
    ++counters_.dropped_too_big;
    return;
  }
  if (!can_reach(flow)) {
    ++counters_.dropped_unreachable;
    return;
  }
  const Opened message = open_message(flow, udp_payload.size(), 0, Outbox::Contents::kPlain, now);
  std::copy(udp_payload.begin(), udp_payload.end(), message.room.begin());
  wire::icrc_follow(message.room, wire::kAfterUdpSourcePort,
                    static_cast<std::uint16_t>(flow.source_port ^ message.flow.source_port));
  wire::icrc_follow(message.room, wire::kAfterUdpDestinationPort,
                    static_cast<std::uint16_t>(wire::kRocePort ^ config_.port));
  flush();
}

void UdpSender::seal_bytes(const wire::Flow& flow, Bytes udp_payload, seal::Sealer& sealer,
                           Time now) {
  const auto packet = wire::decode_udp_payload(flow, {}, udp_payload);
  if (!packet) return;
  const Bytes plain = udp_payload.first(udp_payload.size() - wire::kIcrcSize);
  std::vector<std::byte> sealed(plain.size() + seal::kOverhead);
  if (!sealer.seal(flow, plain, now, sealed)) return;
  if (packet->icrc == wire::IcrcVerdict::kBad) sealed.back() ^= std::byte{1};  // a corrupted packet
  send_sealed(flow, sealed, now);
}

void UdpSender::send_sealed(const wire::Flow& flow, Bytes packet, Time now) {
  if (!can_reach(flow)) {
    ++counters_.dropped_unreachable;
    return;
  }
  const Opened message = open_message(flow, packet.size(), 0, Outbox::Contents::kSealed, now);
  std::ranges::copy(packet, message.room.begin());
  flush();
}

UdpSender::Opened UdpSender::open_message(const wire::Flow& wanted, std::size_t bytes,
                                          std::uint16_t segment, Outbox::Contents contents,
                                          Time now) {
  const SendSocket socket = sockets_.for_port(wanted.source_port, now);
  if (socket.fd != outbox_fd_ || !outbox_.fits(bytes)) flush();
  outbox_fd_ = socket.fd;
  Opened opened{.flow = wanted, .room{}};
  opened.flow.source_port = socket.port;
  opened.room =
      outbox_.add({.flow = opened.flow, .bytes{}, .segment = segment, .contents = contents},
                  SocketName::of(config_.family, wanted.destination, config_.port),
                  interface_of(wanted), bytes);
  return opened;
}

void UdpSender::flush() {
  bool waited = false;
  for (std::size_t done = 0; done < outbox_.size();) {
    ++counters_.calls;
    const int sent = send_some(outbox_fd_, outbox_.headers() + done, outbox_.size() - done);
    if (sent > 0) {
      for (const std::size_t end = done + static_cast<std::size_t>(sent); done < end; ++done) {
        const Outbox::Message& message = outbox_[done];
        counters_.packets += message.packets();
        counters_.bytes += message.bytes.size();
        counters_.messages += 1;
        counters_.trains += message.segment != 0 ? 1 : 0;
      }
      waited = false;
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    if (is_full(error) && !waited) {
      // Waits once for each message: a link that stays full loses packets, but does not stall the
      // engine.
      ++counters_.waits;
      pollfd until{.fd = outbox_fd_, .events = POLLOUT, .revents = 0};
      (void)system::poll(until, kFullWaitMs);
      waited = true;
      continue;
    }
    take_refusal(done++, error);
    waited = false;
  }
  outbox_.clear();
}

void UdpSender::take_refusal(std::size_t index, int error) {
  const Outbox::Message& message = outbox_[index];
  if (message.segment == 0 || !may_refuse_trains(error)) {
    count_loss(error, message.packets());
  } else if (send_segments(index) == 0) {
    // The packets were accepted one by one, so it was the train that was refused.
    segmentation_ = {.works = false,
                     .reason = socket_error("UDP_SEGMENT", "sendmsg", error,
                                            "the route's interface may lack checksum offload")
                                   .text};
  }
}

int UdpSender::send_segments(std::size_t index) {
  const Outbox::Message& train = outbox_[index];
  SendControl control;
  control.write(train.flow, interface_of(train.flow), 0);
  msghdr header = outbox_.headers()[index].msg_hdr;
  header.msg_control = control.bytes;
  header.msg_controllen = control.size;
  int first_error = 0;
  for (std::size_t i = 0; i < train.packets(); ++i) {
    const MutableBytes packet = train.packet(i);
    if (train.flow.destination.is_ipv4() &&
        train.contents ==
            Outbox::Contents::kPlain) {  // sent alone, it will have identification zero
      wire::icrc_follow(packet, wire::kAfterIpv4Identification, static_cast<std::uint16_t>(i));
    }
    iovec bytes{.iov_base = packet.data(), .iov_len = packet.size()};
    header.msg_iov = &bytes;
    ++counters_.calls;
    if (system::sendmsg(outbox_fd_, &header, MSG_DONTWAIT) >= 0) {
      counters_.packets += 1;
      counters_.messages += 1;
      counters_.bytes += packet.size();
      continue;
    }
    if (i == 0) first_error = errno;
    count_loss(errno, 1);
  }
  return first_error;
}

void UdpSender::count_loss(int error, std::uint64_t packets) {
  if (is_full(error)) {
    counters_.dropped_full += packets;
  } else if (error == EMSGSIZE) {
    counters_.dropped_too_big += packets;
  } else {
    counters_.dropped_unreachable += packets;
  }
}

}  // namespace nerve::link
