// Figures made of many: percentiles, fairness, classes of sizes. Pure functions of their values,
// with additions, divisions and comparisons alone, so that every machine gets the same.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

[[nodiscard]] inline double number(std::uint64_t value) { return static_cast<double>(value); }
[[nodiscard]] inline double number(Duration value) { return static_cast<double>(value.count()); }

// The smallest value that so many thousandths of all do not exceed (nearest rank: always one of the
// values, never between two). Zero when there are none.
[[nodiscard]] double percentile(std::span<const double> sorted, unsigned per_thousand);

struct Percentiles {
  double mean{};
  double p50{};
  double p95{};
  double p99{};
  double largest{};
};
[[nodiscard]] Percentiles percentiles_of(std::vector<double> values);

// Jain's index: 1 when all have the same, 1/n when one has everything; 0 when there are none.
[[nodiscard]] double jain(std::span<const double> values);

// A short flow is slowed down by what a long one never notices: they are judged apart.
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
