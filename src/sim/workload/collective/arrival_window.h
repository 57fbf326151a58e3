// How many messages have arrived for each of the items that a member has not come to: a ring that
// grows, because others may run ahead.
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
  // Items are numbered without end, modulo 2^32.
  void add(std::uint32_t item) {
    CHECK(item - first_ < kFarthest);  // of an item that is over: more came than its plan says
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
    std::vector<std::uint16_t> larger(std::bit_ceil(std::max(needed, kLeast)));
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
      larger[(first_ + i) & (larger.size() - 1)] = counts_[slot(first_ + i)];
    }
    counts_ = std::move(larger);
  }

  std::uint32_t first_{};              // item that is counted still
  std::vector<std::uint16_t> counts_;  // a power of two of them
};

}  // namespace nerve::sim
