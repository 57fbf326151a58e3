// Ranges of a stream received out of order: the receiver's out-of-order queue and the sender's
// scoreboard. Sorted, disjoint, few.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/core/tcp_segment.h"

namespace nerve::sim {

class TcpRanges {
 public:
  // Returns the merged range that contains it.
  TcpRange add(TcpRange range) {
    auto from = std::ranges::lower_bound(ranges_, range.begin, {}, &TcpRange::end);
    auto to = from;
    for (; to != ranges_.end() && to->begin <= range.end; ++to) {
      range.begin = std::min(range.begin, to->begin);
      range.end = std::max(range.end, to->end);
      bytes_ -= to->end - to->begin;
    }
    bytes_ += range.end - range.begin;
    if (from == to) {
      ranges_.insert(from, range);
    } else {
      *from = range;
      ranges_.erase(from + 1, to);
    }
    return range;
  }

  void drop_below(std::uint64_t edge) {
    auto to = ranges_.begin();
    for (; to != ranges_.end() && to->begin < edge; ++to) {
      bytes_ -= std::min(to->end, edge) - to->begin;
      if (to->end > edge) {
        to->begin = edge;
        break;
      }
    }
    ranges_.erase(ranges_.begin(), to);
  }

  // The first uncovered range at or after `from` and before `limit`; empty if there is none.
  [[nodiscard]] TcpRange hole(std::uint64_t from, std::uint64_t limit) const {
    auto next = std::ranges::upper_bound(ranges_, from, {}, &TcpRange::end);
    if (next != ranges_.end() && next->begin <= from) from = (next++)->end;
    const std::uint64_t end = next == ranges_.end() ? limit : std::min(limit, next->begin);
    return {from, std::max(from, end)};
  }

  // The number of uncovered bytes in [from, to).
  [[nodiscard]] std::uint64_t missing(std::uint64_t from, std::uint64_t to) const {
    if (from >= to) return 0;
    std::uint64_t here = 0;
    for (const TcpRange& one : ranges_) {
      const std::uint64_t begin = std::max(one.begin, from);
      const std::uint64_t end = std::min(one.end, to);
      if (begin < end) here += end - begin;
    }
    return to - from - here;
  }

  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] TcpRange front() const { return ranges_.front(); }
  [[nodiscard]] std::uint64_t highest() const { return ranges_.empty() ? 0 : ranges_.back().end; }
  [[nodiscard]] const std::vector<TcpRange>& all() const { return ranges_; }

 private:
  std::vector<TcpRange> ranges_;
  std::uint64_t bytes_{};
};

}  // namespace nerve::sim
