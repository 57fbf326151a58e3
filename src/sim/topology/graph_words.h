// The words of a topology file with their lines, and parsers for their values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/rate.h"
#include "base/time.h"

namespace nerve::sim {

struct Word {
  std::string_view text;
  std::uint32_t line{};
};

// Without comments (#).
[[nodiscard]] std::vector<Word> words_of(std::string_view text);

[[nodiscard]] std::optional<std::uint32_t> number_of(std::string_view word);
// 400G, 400Gbps, 12.5Gb/s; from 1 Mb/s to 100 Tb/s.
[[nodiscard]] std::optional<Rate> rate_of(std::string_view word);
// 100ns, 0.001ms, 1us; up to a second.
[[nodiscard]] std::optional<Duration> delay_of(std::string_view word);
[[nodiscard]] bool is_zero(std::string_view word);

}  // namespace nerve::sim
