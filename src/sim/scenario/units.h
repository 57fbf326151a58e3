// Amounts with units, as in "400 Gb/s", "2.5 ms", "64 MB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/rate.h"
#include "base/time.h"

namespace nerve::sim::scenario_file {

// None if the text is not a number with a known unit, is negative, or is out of range.
[[nodiscard]] std::optional<Rate> parse_rate(std::string_view text);
[[nodiscard]] std::optional<Duration> parse_time(std::string_view text);
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);
[[nodiscard]] std::optional<double> parse_power(std::string_view text);  // in watts

// In the largest unit that needs no fraction.
[[nodiscard]] std::string rate_text(Rate rate);
[[nodiscard]] std::string time_text(Duration time);
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);
[[nodiscard]] std::string power_text(double watts);

// Without trailing zeros: 0.125, 7e+09.
[[nodiscard]] std::string number_text(double number);
[[nodiscard]] inline std::string number(std::uint64_t value) { return std::to_string(value); }

}  // namespace nerve::sim::scenario_file
