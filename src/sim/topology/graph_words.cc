#include "sim/topology/graph_words.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

namespace nerve::sim {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

using Unit = std::pair<std::string_view, double>;

// Parses a number followed by one of the units. None for any other text or a value above `most`.
std::optional<std::uint64_t> quantity(std::string_view word, std::span<const Unit> units,
                                      double most) {
  double value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit{end, static_cast<std::size_t>(word.data() + word.size() - end)};
  const auto known = std::ranges::find(units, unit, &Unit::first);
  if (known == units.end() || !(value >= 0 && value * known->second <= most)) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(value * known->second));
}

}  // namespace

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  std::uint32_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (is_space(text[at])) {
      if (text[at++] == '\n') ++line;
    } else {
      std::size_t end = at;
      while (end < text.size() && !is_space(text[end]) && text[end] != '#') ++end;
      words.push_back({text.substr(at, end - at), line});
      at = end;
    }
  }
  return words;
}

std::optional<std::uint32_t> number_of(std::string_view word) {
  std::uint32_t value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<Rate> rate_of(std::string_view word) {
  static constexpr Unit kUnits[] = {{"M", 1e6},  {"Mbps", 1e6},  {"Mb/s", 1e6},
                                    {"G", 1e9},  {"Gbps", 1e9},  {"Gb/s", 1e9},
                                    {"T", 1e12}, {"Tbps", 1e12}, {"Tb/s", 1e12}};
  const auto bps = quantity(word, kUnits, 100e12);
  if (!bps || *bps < 1'000'000) return std::nullopt;
  return Rate::bits_per_second(*bps);
}

std::optional<Duration> delay_of(std::string_view word) {
  static constexpr Unit kUnits[] = {{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};
  const auto picoseconds = quantity(word, kUnits, 1e12);
  if (!picoseconds) return std::nullopt;
  return Duration{static_cast<std::int64_t>(*picoseconds)};
}

bool is_zero(std::string_view word) {
  double value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && end == word.data() + word.size() && value == 0;
}

}  // namespace nerve::sim
