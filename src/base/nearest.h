// Which of the right names somebody meant by a wrong one.
#pragma once

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace nerve {

// Letters to add, drop or change until one word is the other.
[[nodiscard]] inline std::size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t changed = diagonal + (one[i - 1] == other[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

// Empty when none is near: a third of the letters may be wrong.
template <class Names>
[[nodiscard]] std::string_view nearest_name(std::string_view word, const Names& names) {
  std::string_view nearest;
  std::size_t fewest = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const auto& name : names) {
    const std::size_t edits = edits_between(word, name);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = name;
  }
  return nearest;
}

}  // namespace nerve
