// Packets from a socket at RoCEv2's port, as frames.
//
// Datagrams are read many at a time, and trains as the kernel joined them (UDP_GRO); each packet's
// ICRC is checked, which for IPv4 means finding the identification that a socket does not show.
// What is malformed or damaged is counted and dropped here: the engine never sees it.
#pragma once

#include <memory>
#include <vector>

#include "link/link.h"
#include "link/udp/offloads.h"
#include "link/udp/port_group.h"
#include "link/udp/receive_options.h"
#include "wire/packet.h"

namespace nerve::link {

struct UdpReceiverCounters {
  std::uint64_t packets{};   // good ones
  std::uint64_t bytes{};     // of their UDP payload
  std::uint64_t messages{};  // datagrams and trains that the kernel handed over
  std::uint64_t calls{};     // of recvmmsg
  std::uint64_t solved{};    // identifications that were not as guessed
  std::uint64_t bad_icrc{};
  std::uint64_t malformed{};
};

// Guesses the IPv4 identification of the next packet of a train. Linux numbers the packets that it
// cuts from zero, and single ones are all zero; hardware counts up, and some repeat themselves.
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
  // What waits already: thrown away where an earlier process of that index left it unread, for its
  // QPs are gone; kept where others read the same socket.
  enum class Unread : std::uint8_t { kDiscard, kKeep };

  // Reads a socket that is bound to this port, and must outlive the receiver.
  UdpReceiver(const UdpSocket& socket, std::uint16_t port, Unread unread = Unread::kDiscard);
  // Reads socket `index` of the group.
  UdpReceiver(const PortGroup& group, std::uint32_t index, Unread unread = Unread::kDiscard)
      : UdpReceiver{group.socket(index), group.port(), unread} {}

  // `budget` counts the bad packets too, so that a flood of them starves nobody.
  std::size_t receive(FrameSink& sink, std::size_t budget, Time now) override;

  // Readable when there is something to receive. Only for waiting.
  [[nodiscard]] int fd() const { return socket_.fd(); }

  // Packets to a multicast group that arrive by this interface. Each socket that joins gets its own
  // copy, whatever QP the packet names. Zero or errno.
  [[nodiscard]] int join(const wire::Gid& group, std::uint32_t interface);
  [[nodiscard]] int leave(const wire::Gid& group, std::uint32_t interface);

  [[nodiscard]] const UdpReceiverCounters& counters() const { return counters_; }
  // Packets that the kernel had no room for, since the socket was made.
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
  // The sum of the outer headers of such packets; that of the last one is kept.
  wire::OuterSum& outer_of(const wire::Flow& flow, std::size_t size);
  void deliver(FrameSink& sink, Time now);
  int set_membership(const wire::Gid& group, std::uint32_t interface, int ipv4_option,
                     int ipv6_option);
  void discard_stale();

  const UdpSocket& socket_;
  std::uint16_t port_;  // to which packets came
  std::unique_ptr<std::byte[]> buffer_;
  std::vector<Slot> slots_;
  std::vector<mmsghdr> headers_;
  std::vector<wire::Frame> frames_;
  std::vector<wire::Piece> pieces_;
  std::size_t batched_{};
  // Of the last read, by which the next one is sized.
  std::size_t packets_per_message_{1};
  std::size_t bytes_per_message_{};
  ExpectedIdentification expected_;
  wire::OuterSum outer_;
  wire::Flow outer_flow_;
  std::size_t outer_size_{};
  UdpReceiverCounters counters_;
};

}  // namespace nerve::link
