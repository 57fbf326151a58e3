// Evenly spaced samples of a run of unknown length, in bounded memory.
//
// A sample is a row of integers. When the number of rows reaches the limit, each two adjacent rows
// are merged and the interval doubles, so a run of any length ends with between half the limit and
// the limit. Each column has its own rule for merging two values; sums and peaks stay exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

enum class Merge : std::uint8_t {
  kSum,   // of a count since the previous sample
  kMean,  // of an instantaneous value
  kPeak,  // the maximum since the previous sample
};

class Samples {
 public:
  // `most` must be even.
  Samples(std::vector<Merge> columns, Duration every, std::size_t most);

  // Adds a row of zeros for the time since the last one.
  [[nodiscard]] std::span<std::uint64_t> add();
  // Merges rows if the limit is reached. Call it when the row is filled.
  void settle();

  // Before the first row.
  void widen(Duration every);

  [[nodiscard]] Duration every() const { return every_; }
  [[nodiscard]] std::size_t size() const { return rows_; }
  [[nodiscard]] std::uint64_t at(std::size_t row, std::size_t column) const {
    return values_[row * columns_.size() + column];
  }
  // Drops all rows from this index on.
  void cut(std::size_t rows);

 private:
  std::vector<Merge> columns_;
  Duration every_;
  std::size_t most_;
  std::size_t rows_{};
  std::vector<std::uint64_t> values_;  // row-major
};

}  // namespace nerve::sim
