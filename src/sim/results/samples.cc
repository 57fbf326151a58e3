#include "sim/results/samples.h"

#include <algorithm>

#include "base/check.h"

namespace nerve::sim {
namespace {

std::uint64_t merged(Merge how, std::uint64_t a, std::uint64_t b) {
  switch (how) {
    case Merge::kSum:
      return a + b;
    case Merge::kMean:
      return (a + b) / 2;
    case Merge::kPeak:
      return std::max(a, b);
  }
  return 0;
}

}  // namespace

Samples::Samples(std::vector<Merge> columns, Duration every, std::size_t most)
    : columns_{std::move(columns)}, every_{every}, most_{most} {
  CHECK(every_.count() > 0 && most_ >= 2 && most_ % 2 == 0);
}

std::span<std::uint64_t> Samples::add() {
  values_.resize(++rows_ * columns_.size());
  return std::span{values_}.last(columns_.size());
}

void Samples::widen(Duration every) {
  CHECK(rows_ == 0 && every.count() > 0);
  every_ = every;
}

void Samples::settle() {
  if (rows_ < most_) return;
  const std::size_t width = columns_.size();
  for (std::size_t row = 0; row < rows_ / 2; ++row) {
    for (std::size_t i = 0; i < width; ++i) {
      values_[row * width + i] = merged(columns_[i], at(2 * row, i), at(2 * row + 1, i));
    }
  }
  cut(rows_ / 2);
  every_ *= 2;
}

void Samples::cut(std::size_t rows) {
  rows_ = std::min(rows_, rows);
  values_.resize(rows_ * columns_.size());
}

}  // namespace nerve::sim
