// The runs of a sweep: every combination of the values of its keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenario/override.h"

namespace nerve::cli {

struct Axis {
  std::string key;  // fabric.routing
  std::vector<std::string> values;
};

// From key=a,b,c. A comma within quotes is part of its value.
[[nodiscard]] Result<Axis, std::string> parse_axis(std::string_view text);

inline constexpr std::size_t kMostCells = 10'000;

// One run: a value for each axis. The last axis changes fastest.
struct Cell {
  std::vector<sim::Override> values;
};

// Empty if there are more than kMostCells.
[[nodiscard]] std::vector<Cell> cells_of(const std::vector<Axis>& axes);

// routing=spray, qps_per_pair=8
[[nodiscard]] std::string name_of(const Cell& cell);

}  // namespace nerve::cli
