// Limits the number of packets that a QP has in flight, according to its losses.
//
// After a timeout few packets are sent at first, and more as they are acknowledged. A peer that was
// merely slow has its queue full of packets sent before; resending the whole flight again and again
// would keep it busy discarding duplicates, or answering READs twice, until the retries are used
// up.
//
// A link with a short queue loses the end of every long flight, and go-back-N retransmits it. A
// host that sends over such links halves the flight after each loss, and lets it grow by one packet
// for each flight that arrives whole. Congestion control does not see these losses: it relies on
// switches, and these queues are in the hosts.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nerve::nic {

class Flight {
 public:
  static constexpr std::uint32_t kAfterTimeout = 8;

  [[nodiscard]] std::uint32_t limit() const { return limit_; }

  void on_acknowledged(std::uint32_t packets) {
    if (limit_ >= kAny) return;
    if (limit_ < careful_from_) {
      limit_ += packets;
      return;
    }
    whole_ += packets;
    if (whole_ < limit_) return;
    whole_ = 0;
    ++limit_;
  }

  void on_timeout() { limit_ = kAfterTimeout; }

  // Some of the packets in flight did not arrive.
  void on_loss(std::uint32_t on_their_way) {
    careful_from_ = std::max(on_their_way / 2, kLeast);
    limit_ = std::min(limit_, careful_from_);
    whole_ = 0;
  }

  // The same for selective repeat: a loss costs only its own retransmission, so the flight shrinks
  // by one packet for every few retransmissions instead of being halved. A queue that is too short
  // still shrinks it until it fits; random losses at a rate of p leave it at kResentForOne / p
  // packets, where halving at each loss would leave 1.2 / sqrt(p). `window` is the upper limit of
  // the flight.
  void on_selective_loss(std::uint32_t window) {
    careful_from_ = limit_ = std::min(limit_, std::max(window, kLeast));
  }
  void on_resent() {
    if (limit_ >= kAny || limit_ <= kLeast) return;
    // A whole flight that arrives grows the limit by one; this many retransmissions undo that.
    const std::uint32_t undone = limit_ / kResentForOne;
    if (whole_ < undone) {
      careful_from_ = --limit_;
      whole_ += limit_;
    }
    whole_ -= undone;
  }

 private:
  static constexpr std::uint32_t kAny = 1U << 23;
  static constexpr std::uint32_t kLeast = 16;
  static constexpr std::uint32_t kResentForOne = 4;

  std::uint32_t limit_{kAny};
  std::uint32_t careful_from_{kAny};  // below it, the limit grows by every packet acknowledged
  std::uint32_t whole_{};             // packets acknowledged since it last grew
};

}  // namespace nerve::nic
