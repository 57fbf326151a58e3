// The entropy values of one sender: which of its paths the next packet takes.
//
// An entropy value is the varying part of the UDP source port, which switches hash. Values learn
// from what the receiver reports, as in REPS (recycled entropies) with a penalty for bad values:
//
//   arrived without a mark      the value is recycled: another packet will use it
//   arrived with a mark         it is skipped once
//   trimmed, lost               it is skipped four times, 15 times
//
// A packet takes the oldest recycled value. If there is none, it takes the next one of all values,
// in an order that changes with each round.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/fixed_array.h"

namespace nerve::nic {

class Entropies {
 public:
  static constexpr std::uint32_t kMost = 1024;

  // Zero: all packets take one path. Other counts are rounded up to a power of two.
  explicit Entropies(std::uint32_t count)
      : mask_{count == 0 ? 0 : std::bit_ceil(std::min(count, kMost)) - 1},
        recycled_{count == 0 ? 0 : mask_ + 1},
        penalties_{count == 0 ? 0 : mask_ + 1} {}

  [[nodiscard]] bool used() const { return recycled_.size() > 0; }

  // The source port of the next packet of a QP with this one.
  [[nodiscard]] std::uint16_t next_port(std::uint16_t of_qp) {
    return static_cast<std::uint16_t>((of_qp & ~mask_) | next());
  }

  enum class Fate : std::uint8_t { kGood, kMarked, kTrimmed, kLost };
  // What became of a packet with this port. Ports of other flows are ignored.
  void learn(std::uint16_t of_qp, std::uint16_t port, Fate fate) {
    if (!used() || ((of_qp ^ port) & ~mask_) != 0) return;
    const std::uint32_t value = port & mask_;
    if (fate == Fate::kGood) return recycle(value);
    constexpr std::uint8_t kSkips[] = {0, 1, 4, 15};
    constexpr std::uint8_t kMostSkips = 15;
    std::uint8_t& penalty = penalties_[value];
    const int raised = penalty + kSkips[static_cast<unsigned>(fate)];
    penalty = static_cast<std::uint8_t>(std::min<int>(raised, kMostSkips));
  }

  // For tests.
  [[nodiscard]] std::uint32_t recycled() const { return end_ - begin_; }

 private:
  [[nodiscard]] std::uint32_t next() {
    if (begin_ != end_) return recycled_[begin_++ & mask_];
    std::uint32_t value = 0;
    for (std::uint32_t tries = 0; tries <= mask_; ++tries) {
      value = (turn_ ^ order_) & mask_;
      if ((++turn_ & mask_) == 0) order_ = order_ * 0x9e37'79b1U + 0x7f4a'7c15U;
      if (penalties_[value] == 0) break;
      --penalties_[value];
    }
    return value;
  }
  void recycle(std::uint32_t value) {
    if (end_ - begin_ <= mask_) recycled_[end_++ & mask_] = static_cast<std::uint16_t>(value);
  }

  std::uint32_t mask_;
  FixedArray<std::uint16_t> recycled_;  // a ring; both indices run freely
  std::uint32_t begin_{};
  std::uint32_t end_{};
  FixedArray<std::uint8_t> penalties_;
  std::uint32_t turn_{};
  std::uint32_t order_{};
};

}  // namespace nerve::nic
