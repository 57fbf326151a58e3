// Samples at even distances of a run whose length nobody knows beforehand, in bounded memory.
//
// A sample is a row of whole numbers. When the rows have reached their limit each two neighbours
// become one and the distance doubles, so that a run of any length leaves between half the limit
// and the limit. A column says how two of its numbers become one; sums and peaks stay exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

enum class Merge : std::uint8_t {
  kSum,   // of what was counted since the sample before
  kMean,  // of what was seen at an instant
  kPeak,  // the most there was since the sample before
};

class Samples {
 public:
  // `most` is even.
  Samples(std::vector<Merge> columns, Duration every, std::size_t most);

  // A row of zeros for the time since the last one.
  [[nodiscard]] std::span<std::uint64_t> add();
  // Merges when it is time to. Call it when the row is filled.
  void settle();

  [[nodiscard]] Duration every() const { return every_; }
  [[nodiscard]] std::size_t size() const { return rows_; }
  [[nodiscard]] std::uint64_t at(std::size_t row, std::size_t column) const {
    return values_[row * columns_.size() + column];
  }
  // Rows from here on are forgotten.
  void cut(std::size_t rows);

 private:
  std::vector<Merge> columns_;
  Duration every_;
  std::size_t most_;
  std::size_t rows_{};
  std::vector<std::uint64_t> values_;  // row after row
};

}  // namespace nerve::sim
