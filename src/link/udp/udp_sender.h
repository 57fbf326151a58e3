// Sends frames through UDP sockets, as RoCEv2 packets whose ICRC matches the headers that the
// kernel will write.
//
// Consecutive frames of one flow and size are sent as one train: one message that the kernel
// segments (UDP_SEGMENT). If it refuses, and for all other frames, sendmmsg is used. Packets that
// cannot be sent are counted and dropped.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "link/link.h"
#include "link/udp/offloads.h"
#include "link/udp/outbox.h"
#include "link/udp/sealing.h"
#include "link/udp/send_sockets.h"
#include "link/udp/train.h"

namespace nerve::link {

struct UdpSenderConfig {
  std::uint16_t port{wire::kRocePort};  // destination port
  IpFamily family{IpFamily::kDual};
  std::size_t max_sockets{32};
  bool segmentation{true};
  int buffer{kWantedBuffer};
};

struct UdpSenderCounters {
  std::uint64_t packets{};   // accepted by the kernel
  std::uint64_t bytes{};     // of UDP payload
  std::uint64_t messages{};  // a train counts once
  std::uint64_t calls{};     // of sendmmsg
  std::uint64_t trains{};
  std::uint64_t waits{};  // the socket was full, and drained in time
  std::uint64_t dropped_full{};
  std::uint64_t dropped_too_big{};      // larger than the path MTU
  std::uint64_t dropped_unreachable{};  // no route, no such source address, or refused by a filter
  std::uint64_t dropped_unsealed{};     // they had to be sealed, and the peer has no keys (yet)
};

class UdpSender final : public Egress {
 public:
  static Result<std::unique_ptr<UdpSender>, SocketError> open(const UdpSenderConfig& config);

  void send(std::span<const wire::Frame> frames, Time now) override;
  void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) override;

  // From now on packets are sealed as `sealing` says. It must outlive the sender.
  void seal_with(Sealing& sealing) { sealing_ = &sealing; }
  // Sends a packet of a sealed QP, without changing it.
  void send_sealed(const wire::Flow& flow, Bytes packet, Time now);

  // Sets the interface through which a source address reaches link-local and multicast
  // destinations.
  void set_interface(const wire::Gid& source, std::uint32_t index);
  void forget_interfaces() { interfaces_.clear(); }

  [[nodiscard]] const UdpSenderCounters& counters() const { return counters_; }
  [[nodiscard]] const Offload& segmentation() const { return segmentation_; }
  [[nodiscard]] int buffer() const;
  [[nodiscard]] std::size_t sockets() const { return sockets_.size(); }
  // The UDP source port of packets whose flow has this one.
  [[nodiscard]] std::uint16_t real_port(std::uint16_t wanted, Time now) const {
    return sockets_.port_for(wanted, now);
  }
  // True if one of our sockets is bound to this port.
  [[nodiscard]] bool sends_from(std::uint16_t port) const { return sockets_.has(port); }

 private:
  UdpSender(const UdpSenderConfig& config, SendSockets sockets);

  // A message being built: the flow with its real source port, and room for the bytes.
  struct Opened {
    wire::Flow flow;
    MutableBytes room;
  };

  // Frames that are sealed in the same way, or not at all.
  void send_run(std::span<const wire::Frame> frames, seal::Sealer* sealer, Time now);
  void send_train(std::span<const wire::Frame> frames, const Train& train, seal::Sealer* sealer,
                  Time now);
  // The way of the first frames, and how many of them take it.
  struct Run {
    std::size_t frames;
    Sealing::Way way;
  };
  [[nodiscard]] Run next_run(std::span<const wire::Frame> frames) const;
  void seal_bytes(const wire::Flow& flow, Bytes udp_payload, seal::Sealer& sealer, Time now);
  [[nodiscard]] Opened open_message(const wire::Flow& wanted, std::size_t bytes,
                                    std::uint16_t segment, Outbox::Contents contents, Time now);
  [[nodiscard]] bool can_reach(const wire::Flow& flow) const;
  void flush();
  void take_refusal(std::size_t index, int error);
  // Sends a refused train packet by packet; returns the kernel's error for the first one.
  int send_segments(std::size_t index);
  void count_loss(int error, std::uint64_t packets);
  [[nodiscard]] std::uint32_t interface_of(const wire::Flow& flow) const;

  UdpSenderConfig config_;
  SendSockets sockets_;
  Offload segmentation_;
  std::vector<std::pair<wire::Gid, std::uint32_t>> interfaces_;
  Sealing* sealing_{};
  Outbox outbox_;
  int outbox_fd_{-1};
  UdpSenderCounters counters_;
};

}  // namespace nerve::link
