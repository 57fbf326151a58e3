#include "sim/scenario/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace nerve::sim::scenario_file {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t worth;  // in the smallest unit: bits per second, picoseconds, bytes
};

// Of units with the same value, the first is used for output.
constexpr Unit kRates[] = {
    {"b/s", 1},
    {"Kb/s", 1'000},
    {"Mb/s", 1'000'000},
    {"Gb/s", 1'000'000'000},
    {"Tb/s", 1'000'000'000'000},
    {"kb/s", 1'000},
    {"bps", 1},
    {"Kbps", 1'000},
    {"kbps", 1'000},
    {"Mbps", 1'000'000},
    {"Gbps", 1'000'000'000},
    {"Tbps", 1'000'000'000'000},
    {"B/s", 8},
    {"KB/s", 8'000},
    {"kB/s", 8'000},
    {"MB/s", 8'000'000},
    {"GB/s", 8'000'000'000},
    {"TB/s", 8'000'000'000'000},
};
constexpr std::size_t kWrittenRates = 5;

constexpr Unit kTimes[] = {
    {"ps", 1},
    {"ns", 1'000},
    {"us", 1'000'000},
    {"ms", 1'000'000'000},
    {"s", 1'000'000'000'000},
    {"min", 60'000'000'000'000},
    {"h", 3'600'000'000'000'000},
    {"µs", 1'000'000},
};
constexpr std::size_t kWrittenTimes = 7;

constexpr Unit kSizes[] = {
    {"B", 1},
    {"KB", 1'000},
    {"KiB", 1U << 10U},
    {"MB", 1'000'000},
    {"MiB", 1U << 20U},
    {"GB", 1'000'000'000},
    {"GiB", 1U << 30U},
    {"TB", 1'000'000'000'000},
    {"TiB", std::uint64_t{1} << 40U},
    {"kB", 1'000},
};
constexpr std::size_t kWrittenSizes = 9;

constexpr Unit kPowers[] = {
    {"mW", 1}, {"W", 1'000}, {"kW", 1'000'000}, {"MW", 1'000'000'000}, {"KW", 1'000'000},
};
constexpr std::size_t kWrittenPowers = 4;

// No key accepts larger numbers.
constexpr double kMost = 9.0e18;

std::optional<std::uint64_t> parse(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view unit{end, static_cast<std::size_t>(last - end)};
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& known : units) {
    if (known.name != unit) continue;
    const double amount = number * static_cast<double>(known.worth);
    if (amount > kMost) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(amount));
  }
  return std::nullopt;
}

std::string write(std::uint64_t amount, std::span<const Unit> units) {
  const Unit* best = units.data();
  for (const Unit& unit : units) {
    if (amount % unit.worth == 0 && amount >= unit.worth && unit.worth > best->worth) best = &unit;
  }
  std::string text = std::to_string(amount / best->worth);
  return text.append(" ").append(best->name);
}

}  // namespace

std::optional<Rate> parse_rate(std::string_view text) {
  const auto bits = parse(text, kRates);
  return bits ? std::optional{Rate::bits_per_second(*bits)} : std::nullopt;
}

std::optional<Duration> parse_time(std::string_view text) {
  const auto picoseconds = parse(text, kTimes);
  return picoseconds ? std::optional{Duration{static_cast<std::int64_t>(*picoseconds)}}
                     : std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) { return parse(text, kSizes); }

std::string rate_text(Rate rate) {
  return write(rate.bits_per_second(), std::span{kRates}.first(kWrittenRates));
}

std::string time_text(Duration time) {
  if (time == Duration{}) return "0 s";
  return write(static_cast<std::uint64_t>(time.count()), std::span{kTimes}.first(kWrittenTimes));
}

std::string bytes_text(std::uint64_t bytes) {
  return write(bytes, std::span{kSizes}.first(kWrittenSizes));
}

std::optional<double> parse_power(std::string_view text) {
  const auto milliwatts = parse(text, kPowers);
  return milliwatts ? std::optional{static_cast<double>(*milliwatts) / 1000} : std::nullopt;
}

std::string power_text(double watts) {
  if (watts <= 0) return "0 W";
  return write(static_cast<std::uint64_t>(std::llround(watts * 1000)),
               std::span{kPowers}.first(kWrittenPowers));
}

std::string number_text(double number) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return error == std::errc{} ? std::string{buffer.data(), end} : std::string{"?"};
}

}  // namespace nerve::sim::scenario_file
