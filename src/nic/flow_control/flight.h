// How many packets a QP may have on their way, as its losses have taught it.
//
// After a timeout a few go out at first, and more as they are acknowledged: a peer that was merely
// slow has its queue full of what it was sent before, and the whole flight again, time after time,
// would keep it at throwing away duplicates, or at answering READs twice, until the retries are
// used up.
//
// A link whose queue is short loses the end of every long flight, and go-back-N sends it again. A
// host that sends over such links halves the flight with each loss, and lets it grow by a packet
// for each flight that arrives whole. Congestion control knows nothing of it: it hears from
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

  // Some of the packets that were on their way did not arrive.
  void on_loss(std::uint32_t on_their_way) {
    careful_from_ = std::max(on_their_way / 2, kLeast);
    limit_ = std::min(limit_, careful_from_);
    whole_ = 0;
  }

  // The same where only what was lost is sent again (selective repeat): a loss costs no more than
  // itself, and the flight shrinks by a packet for every few that are sent again rather than to
  // half. A queue that is too short still shrinks it until it fits; losses at random, at a rate of
  // p, leave it at kResentForOne / p packets, where half at each loss would leave 1.2 / sqrt(p).
  // `window` is what the flight could be at most.
  void on_selective_loss(std::uint32_t window) {
    careful_from_ = limit_ = std::min(limit_, std::max(window, kLeast));
  }
  void on_resent() {
    if (limit_ >= kAny || limit_ <= kLeast) return;
    // A whole flight that arrives makes it grow by one; so many sent again undo that.
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
  std::uint32_t careful_from_{kAny};  // below it grows by what is acknowledged
  std::uint32_t whole_{};             // acknowledged since it last grew
};

}  // namespace nerve::nic
