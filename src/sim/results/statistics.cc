#include "sim/results/statistics.h"

#include <algorithm>

namespace nerve::sim {

double percentile(std::span<const double> sorted, unsigned per_thousand) {
  if (sorted.empty()) return 0;
  const std::size_t rank = (sorted.size() * per_thousand + 999) / 1000;
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

Percentiles percentiles_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  double sum = 0;
  for (const double value : values) sum += value;
  return {.mean = sum / static_cast<double>(values.size()),
          .p50 = percentile(values, 500),
          .p95 = percentile(values, 950),
          .p99 = percentile(values, 990),
          .largest = values.back()};
}

double jain(std::span<const double> values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  if (squares == 0) return values.empty() ? 0 : 1;  // all zero: equal
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

std::size_t size_class_of(std::uint64_t bytes) {
  const auto found = std::ranges::find_if(
      kSizeClasses, [&](const SizeClass& one) { return one.below == 0 || bytes < one.below; });
  return static_cast<std::size_t>(found - kSizeClasses.begin());
}

}  // namespace nerve::sim
