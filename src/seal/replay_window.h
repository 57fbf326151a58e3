// Which packets of a sender have arrived: none is accepted twice.
//
// Remembers the last kSize counters. Older ones are refused, whether they arrived or not: a packet
// that was overtaken by that many is lost, and the transport sends its contents again under a new
// counter.
#pragma once

#include <array>
#include <cstdint>

#include "base/planted.h"

namespace nerve::seal {

class ReplayWindow {
 public:
  static constexpr std::uint64_t kSize = 2048;

  // True if the counter is new. Ask before the packet is opened, note it after.
  [[nodiscard]] bool is_new(std::uint64_t counter) const {
    if (counter >= end_) return counter != kLast;
    if (planted(Bug::kReplayWindowShort) && counter + 1 == end_) return true;
    return end_ - counter <= kSize && !has(counter);
  }

  void note(std::uint64_t counter) {
    if (counter >= end_) {
      const std::uint64_t skipped = counter - end_;
      if (skipped >= kSize) {
        seen_.fill(0);
      } else {
        for (std::uint64_t i = end_; i < counter; ++i) clear(i);
      }
      end_ = counter + 1;
    }
    seen_[word_of(counter)] |= bit_of(counter);
  }

 private:
  static constexpr std::uint64_t kLast = ~std::uint64_t{0};  // never used by a sender

  [[nodiscard]] static std::size_t word_of(std::uint64_t counter) { return counter % kSize / 64; }
  [[nodiscard]] static std::uint64_t bit_of(std::uint64_t counter) {
    return std::uint64_t{1} << (counter % 64);
  }
  [[nodiscard]] bool has(std::uint64_t counter) const {
    return (seen_[word_of(counter)] & bit_of(counter)) != 0;
  }
  void clear(std::uint64_t counter) { seen_[word_of(counter)] &= ~bit_of(counter); }

  std::array<std::uint64_t, kSize / 64> seen_{};
  std::uint64_t end_{};  // one more than the largest counter that arrived
};

}  // namespace nerve::seal
