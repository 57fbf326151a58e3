#include "nic/qp_context/scoreboard.h"

#include <algorithm>

namespace nerve::nic {

bool Scoreboard::mark(Psn unacked, Psn psn) {
  if (psn == unacked || !known(unacked, psn) || arrived(unacked, psn)) return false;
  bits_[place(psn) / kWord] |= std::uint64_t{1} << bit(psn);
  ++count_;
  if (psn.distance_from(sacked_end) >= 0) sacked_end = psn + 1;
  return true;
}

void Scoreboard::acknowledged(Psn before, Psn unacked) {
  const auto forwards = [unacked](Psn& psn) {
    if (psn.distance_from(unacked) < 0) psn = unacked;
  };
  // The packet that the peer expects is not there, whatever it reported before: it may have
  // discarded the packet for lack of a receive.
  const auto passed = static_cast<std::uint32_t>(unacked.distance_from(before)) + 1;
  if (sacked_end.distance_from(before) > 0) {
    for (std::uint32_t i = 0; i < std::min(passed, mask_ + 1); ++i) {
      const Psn psn = before + (passed - 1 - i);
      count_ -= static_cast<std::uint32_t>(word(psn) >> bit(psn) & 1U);
      bits_[place(psn) / kWord] &= ~(std::uint64_t{1} << bit(psn));
    }
  }
  if (sacked_end == unacked + 1) sacked_end = unacked;
  forwards(sacked_end);
  forwards(resend_from);
  forwards(lost_end);
}

Scoreboard::Fresh Scoreboard::fresh_in(Psn from, Psn end) const {
  Fresh fresh;
  for (Psn psn = from; psn != end; psn = psn + 1) {
    if (arrived(from, psn)) continue;
    ++fresh.packets;
    fresh.newest = psn;
  }
  return fresh;
}

Psn Scoreboard::first_missing(Psn unacked, Psn from, Psn end) const {
  while (from.distance_from(end) < 0 && arrived(unacked, from)) {
    // Skip the arrived packets in this word.
    const std::uint64_t missing = ~(word(from) >> bit(from));
    const auto left = static_cast<std::uint32_t>(end.distance_from(from));
    const auto run = static_cast<std::uint32_t>(std::countr_zero(missing));
    from = from + std::min({run, kWord - bit(from), left});
  }
  return from;
}

Psn Scoreboard::lost_before(Psn unacked, std::uint32_t tolerance) const {
  const auto known = static_cast<std::uint32_t>(sacked_end.distance_from(unacked));
  return known > tolerance + 1 ? unacked + (known - 1 - tolerance) : unacked;
}

}  // namespace nerve::nic
