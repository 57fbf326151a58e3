// What a requester with selective repeat knows of the packets that it has sent and that are not
// acknowledged: which of them arrived out of order, and which are to be sent again.
//
//     unacked    resend_from        lost_end    sacked_end    sent_end
//        │ sent again │ to be sent again │ may come │ on its way  │
//                       unless it arrived
//
// A packet is sent again once: `resend_from` only moves forwards, until something that was sent
// after the repairs arrives before them, or a timeout or a go-back-N (which READs and RNR NAKs
// cause) sets it back. PSNs are compared by their distance from `unacked`, which the caller knows;
// none of those kept here lies before it.
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
  // Remembers `window` packets; of those farther ahead it knows nothing.
  explicit Scoreboard(std::uint32_t window)
      : bits_{(std::bit_ceil(window) + kWord - 1) / kWord}, mask_{bits_.size() * kWord - 1} {}

  void begin(Psn first) {
    resend_from = lost_end = repaired_at = sacked_end = recover_until = first;
  }

  // The packet has arrived; it is ahead of `unacked`. False when that is no news.
  bool mark(Psn unacked, Psn psn);
  [[nodiscard]] bool arrived(Psn unacked, Psn psn) const {
    return known(unacked, psn) && (word(psn) >> bit(psn) & 1U) != 0;
  }
  [[nodiscard]] bool any_arrived(Psn unacked) const { return sacked_end != unacked; }

  // All before `unacked` are acknowledged, and the peer waits for that one.
  void acknowledged(Psn before, Psn unacked);

  // The first packet from `from` on and before `end` that is not known to have arrived; `end` when
  // there is none.
  [[nodiscard]] Psn first_missing(Psn unacked, Psn from, Psn end) const;

  // How far packets count as lost, when one of them may be overtaken by `tolerance` others.
  [[nodiscard]] Psn lost_before(Psn unacked, std::uint32_t tolerance) const;

  // Whether a packet that was sent after all repairs has arrived before them.
  [[nodiscard]] bool overtook_repairs(Psn unacked, Psn psn, std::uint32_t tolerance) const {
    return resend_from != unacked &&
           psn.distance_from(repaired_at) >= static_cast<std::int32_t>(tolerance);
  }

  // Everything that is not known to have arrived is sent again.
  void go_back(Psn unacked, Psn sent_end) {
    resend_from = unacked;
    lost_end = sent_end;
  }

  Psn resend_from{};
  Psn lost_end{};
  Psn repaired_at{};  // the end of what was sent when the last repair was
  Psn sacked_end{};   // one beyond the highest that has arrived; `unacked` when none has

  // A round of recovery: from the first loss until all that had been sent by then has arrived.
  bool recovering{};
  bool after_timeout{};      // it began with one
  std::uint32_t presumed{};  // packets that count as lost since, though nothing was said of them
  Psn recover_until{};
  Time timer_from{};                 // when the retransmission timer was set
  Time give_up_at{};                 // when a timeout next counts as a retry
  std::optional<Time> reorder_at{};  // when what was overtaken counts as lost

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
};

}  // namespace nerve::nic
