// State of a requester with selective repeat: which unacknowledged packets have arrived out of
// order, and which are to be retransmitted.
//
//    unacked    resend_from        lost_end    sacked_end    sent_end
//       │ resent     │ to be resent     │ may come │ in flight   │
//                      unless it arrived
//
// A packet is retransmitted once: `resend_from` only moves forward, until a packet that was sent
// after the retransmissions arrives before them, or a timeout or a go-back-N (caused by READs and
// RNR NAKs) moves it back. PSNs are compared by their distance from `unacked`, which the caller
// passes; none of those stored here lies before it.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "base/fixed_array.h"
#include "base/ids.h"
#include "base/time.h"

namespace nerve::nic {

class Scoreboard {
 public:
  // Tracks `window` packets from `unacked` on; packets beyond are unknown.
  explicit Scoreboard(std::uint32_t window)
      : bits_{(std::bit_ceil(window) + kWord - 1) / kWord}, mask_{bits_.size() * kWord - 1} {}

  void begin(Psn first) {
    resend_from = lost_end = repaired_at = sacked_end = recover_until = first;
  }

  // Records that the packet, which is ahead of `unacked`, has arrived. False when it was known.
  bool mark(Psn unacked, Psn psn);
  [[nodiscard]] bool arrived(Psn unacked, Psn psn) const {
    return known(unacked, psn) && (word(psn) >> bit(psn) & 1U) != 0;
  }
  [[nodiscard]] bool any_arrived(Psn unacked) const { return sacked_end != unacked; }
  // The packets beyond `unacked` that are known to have arrived.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  // Of the packets in [from, end), which are acknowledged now, those not known to have arrived
  // before; and the newest of them.
  struct Fresh {
    std::uint32_t packets{};
    std::optional<Psn> newest{};
  };
  [[nodiscard]] Fresh fresh_in(Psn from, Psn end) const;

  // All packets before `unacked` are acknowledged, and the peer expects `unacked` next.
  void acknowledged(Psn before, Psn unacked);

  // The first packet in [from, end) that is not known to have arrived; `end` when there is none.
  [[nodiscard]] Psn first_missing(Psn unacked, Psn from, Psn end) const;

  // The end of the packets that count as lost, if a packet may be overtaken by `tolerance` others.
  [[nodiscard]] Psn lost_before(Psn unacked, std::uint32_t tolerance) const;

  // Whether a packet that was sent after all retransmissions has arrived before them.
  [[nodiscard]] bool overtook_repairs(Psn unacked, Psn psn, std::uint32_t tolerance) const {
    return resend_from != unacked &&
           psn.distance_from(repaired_at) >= static_cast<std::int32_t>(tolerance);
  }

  // Retransmits every packet that is not known to have arrived.
  void go_back(Psn unacked, Psn sent_end) {
    resend_from = unacked;
    lost_end = sent_end;
  }

  Psn resend_from{};
  Psn lost_end{};
  Psn repaired_at{};  // sent_end at the time of the last retransmission
  Psn sacked_end{};   // one beyond the highest packet that has arrived; `unacked` when there is
                      // none

  // A recovery period lasts from the first loss until everything sent by then has arrived.
  bool recovering{};
  bool after_timeout{};      // it began with a timeout
  std::uint32_t presumed{};  // packets presumed lost since then without evidence
  Psn recover_until{};
  Time timer_from{};                 // when the retransmission timer was started
  Time give_up_at{};                 // when the next timeout counts as a retry
  std::optional<Time> reorder_at{};  // when overtaken packets count as lost

 private:
  static constexpr std::uint32_t kWord = 64;
  [[nodiscard]] bool known(Psn unacked, Psn psn) const {
    return static_cast<std::uint32_t>(psn.distance_from(unacked)) <= mask_;
  }
  [[nodiscard]] std::uint32_t place(Psn psn) const { return psn.value() & mask_; }
  [[nodiscard]] std::uint64_t word(Psn psn) const { return bits_[place(psn) / kWord]; }
  [[nodiscard]] std::uint32_t bit(Psn psn) const { return place(psn) % kWord; }

  FixedArray<std::uint64_t> bits_;
  std::uint32_t mask_;
  std::uint32_t count_{};  // bits that are set
};

}  // namespace nerve::nic
