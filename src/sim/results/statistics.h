// Percentiles, fairness and size classes. Pure functions that use only additions, divisions and
// comparisons, so that the results are the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

[[nodiscard]] inline double number(std::uint64_t value) { return static_cast<double>(value); }
[[nodiscard]] inline double number(Duration value) { return static_cast<double>(value.count()); }

// The nearest-rank percentile: the smallest value that the given thousandths of all values do not
// exceed. Always one of the values. Zero if there are none.
[[nodiscard]] double percentile(std::span<const double> sorted, unsigned per_thousand);

struct Percentiles {
  double mean{};
  double p50{};
  double p95{};
  double p99{};
  double largest{};
};
[[nodiscard]] Percentiles percentiles_of(std::vector<double> values);

// Jain's fairness index: 1 when all are equal, 1/n when one has everything, 0 when there are none.
[[nodiscard]] double jain(std::span<const double> values);

// Flows are judged by size class, since short flows suffer from delays that long ones do not
// notice.
struct SizeClass {
  const char* name{};
  std::uint64_t below{};  // bytes; zero: no limit
};
inline constexpr std::array<SizeClass, 5> kSizeClasses{{{"under 10 KB", 10'000},
                                                        {"10 to 100 KB", 100'000},
                                                        {"100 KB to 1 MB", 1'000'000},
                                                        {"1 to 10 MB", 10'000'000},
                                                        {"10 MB and more", 0}}};
[[nodiscard]] std::size_t size_class_of(std::uint64_t bytes);

}  // namespace nerve::sim
