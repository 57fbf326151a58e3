// Suggestions for misspelled names: finds the valid name closest to a word.
#pragma once

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace nerve {

// The edit distance: letters to add, drop, change or swap with the next one.
[[nodiscard]] inline std::size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before;  // the row above the last
  std::vector<std::size_t> last(other.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::vector<std::size_t> row(other.size() + 1, i);
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t changed = last[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      const bool swapped =
          i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last.back();
}

// Empty when no name is close: at most a third of the letters may differ.
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
