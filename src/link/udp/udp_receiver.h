// Receives packets from a socket at RoCEv2's port, as frames.
//
// Datagrams are read many at a time, and trains as the kernel coalesced them (UDP_GRO). Each
// packet's ICRC is checked, which for IPv4 requires finding the identification that a socket does
// not report. Malformed and corrupted packets are counted and dropped here; the engine never sees
// them.
#pragma once

#include <memory>
#include <vector>

#include "link/link.h"
#include "link/udp/offloads.h"
#include "link/udp/port_group.h"
#include "link/udp/receive_options.h"
#include "link/udp/sealing.h"
#include "wire/packet.h"

namespace nerve::link {

struct UdpReceiverCounters {
  std::uint64_t packets{};   // valid ones
  std::uint64_t bytes{};     // of their UDP payload
  std::uint64_t messages{};  // datagrams and trains received from the kernel
  std::uint64_t calls{};     // of recvmmsg
  std::uint64_t solved{};    // identifications that differed from the prediction
  std::uint64_t bad_icrc{};
  std::uint64_t bad_seal{};  // not authentic
  std::uint64_t closed{};    // sealed for a QP of which we have no keys; passed on as they are
  std::uint64_t malformed{};
};

// Predicts the IPv4 identification of the next packet of a train. Linux numbers the segments of a
// train from zero, and single packets all have zero; hardware counts up, and some hardware repeats
// numbers.
class ExpectedIdentification {
 public:
  [[nodiscard]] std::uint16_t next() const { return next_; }
  void learn(std::uint16_t found) {
    if (in_train_ && found != next_) step_ = static_cast<std::uint16_t>(found - next_ + step_);
    next_ = static_cast<std::uint16_t>(found + step_);
    in_train_ = true;
  }

 private:
  std::uint16_t next_{0};
  std::uint16_t step_{1};
  bool in_train_{};
};

class UdpReceiver final : public Ingress {
 public:
  // Packets that were queued before: discard those that an earlier process of that index left
  // unread, because its QPs are gone; keep them if other processes read the same socket.
  enum class Unread : std::uint8_t { kDiscard, kKeep };

  // Reads a socket bound to this port; the socket must outlive the receiver.
  UdpReceiver(const UdpSocket& socket, std::uint16_t port, Unread unread = Unread::kDiscard);
  // Reads socket `index` of the group.
  UdpReceiver(const PortGroup& group, std::uint32_t index, Unread unread = Unread::kDiscard)
      : UdpReceiver{group.socket(index), group.port(), unread} {}

  // From now on sealed packets are opened. `sealing` must outlive the receiver.
  void open_with(Sealing& sealing) { sealing_ = &sealing; }

  // `budget` counts invalid packets too, so that a flood of them does not starve other work.
  std::size_t receive(FrameSink& sink, std::size_t budget, Time now) override;

  // Readable when there is something to receive. Use it only for waiting.
  [[nodiscard]] int fd() const { return socket_.fd(); }

  // Receive packets to a multicast group that arrive on this interface. Each socket that joins gets
  // its own copy, whatever the destination QP. Return zero or errno.
  [[nodiscard]] int join(const wire::Gid& group, std::uint32_t interface);
  [[nodiscard]] int leave(const wire::Gid& group, std::uint32_t interface);

  [[nodiscard]] const UdpReceiverCounters& counters() const { return counters_; }
  // Packets dropped by the kernel for lack of room since the socket was created.
  [[nodiscard]] std::uint64_t overflowed() const;
  [[nodiscard]] Offload coalescing() const;
  [[nodiscard]] int buffer() const;

 private:
  static constexpr std::size_t kMaxMessages = 32;
  static constexpr std::size_t kMessageSize = 1U << 16U;
  static constexpr std::size_t kBatch = 64;

  struct Slot {
    sockaddr_storage name;
    alignas(cmsghdr) std::byte control[kReceiveControlSize];
    iovec bytes;
  };

  [[nodiscard]] int read(std::size_t messages);
  [[nodiscard]] std::size_t messages_for(std::size_t budget) const;
  std::size_t take_message(std::size_t index, FrameSink& sink, Time now);
  void take_packet(const wire::Flow& flow, wire::OuterSum& outer, Bytes bytes);
  void take_sealed(const wire::Flow& flow, MutableBytes packet, Time now);
  void take_closed(const wire::Flow& flow, Bytes packet);
  // The partial ICRC over the outer headers of such packets; the last one is cached.
  wire::OuterSum& outer_of(const wire::Flow& flow, std::size_t size);
  void deliver(FrameSink& sink, Time now);
  int set_membership(const wire::Gid& group, std::uint32_t interface, int ipv4_option,
                     int ipv6_option);
  void discard_stale();

  const UdpSocket& socket_;
  Sealing* sealing_{};
  std::uint16_t port_;  // the destination port of the packets
  std::unique_ptr<std::byte[]> buffer_;
  std::vector<Slot> slots_;
  std::vector<mmsghdr> headers_;
  std::vector<wire::Frame> frames_;
  std::vector<wire::Piece> pieces_;
  std::size_t batched_{};
  // From the last read, to size the next one.
  std::size_t packets_per_message_{1};
  std::size_t bytes_per_message_{};
  ExpectedIdentification expected_;
  wire::OuterSum outer_;
  wire::Flow outer_flow_;
  std::size_t outer_size_{};
  UdpReceiverCounters counters_;
};

}  // namespace nerve::link
