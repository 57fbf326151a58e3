// Counts the messages that have arrived for each item that a member has not reached yet. A ring
// that grows, because other members may run ahead.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace nerve::sim {

class ArrivalWindow {
 public:
  // Item numbers wrap at 2^32.
  void add(std::uint32_t item) {
    CHECK(item - first_ < kFarthest);  // otherwise more arrived than the plan says
    if (item - first_ >= counts_.size()) grow(item - first_ + 1);
    ++counts_[slot(item)];
  }
  [[nodiscard]] std::uint32_t at(std::uint32_t item) const {
    return item - first_ < counts_.size() ? counts_[slot(item)] : 0;
  }
  void drop_before(std::uint32_t item) {
    if (item - first_ >= counts_.size()) {
      counts_.assign(counts_.size(), 0);
      first_ = item;
    }
    for (; first_ != item; ++first_) counts_[slot(first_)] = 0;
  }

 private:
  static constexpr std::uint32_t kFarthest = 1U << 28;

  [[nodiscard]] std::size_t slot(std::uint32_t item) const { return item & (counts_.size() - 1); }

  void grow(std::uint32_t needed) {
    constexpr std::uint32_t kLeast = 4;
    std::vector<std::uint32_t> larger(std::bit_ceil(std::max(needed, kLeast)));
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
      larger[(first_ + i) & (larger.size() - 1)] = counts_[slot(first_ + i)];
    }
    counts_ = std::move(larger);
  }

  std::uint32_t first_{};              // the first item still counted
  std::vector<std::uint32_t> counts_;  // the size is a power of two
};

}  // namespace nerve::sim
