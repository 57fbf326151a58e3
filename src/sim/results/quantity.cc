#include "sim/results/quantity.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

namespace nerve::sim {
namespace {

// Four digits, without trailing zeros after the point.
std::string digits(double value) {
  const double size = std::fabs(value);
  const int places = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", value, places);
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

// Uses the unit in which the value is at least one and, after rounding, below 1000.
std::string scaled(double value, std::span<const char* const> units) {
  constexpr double kNextUnit = 999.95;
  std::size_t unit = 0;
  while (std::fabs(value) >= kNextUnit && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return digits(value) + units[unit];
}

constexpr std::array kTimes{" ps", " ns", " us", " ms", " s"};
constexpr std::array kBytes{" B", " KB", " MB", " GB", " TB", " PB"};
constexpr std::array kByteRates{" B/s", " KB/s", " MB/s", " GB/s", " TB/s", " PB/s"};
constexpr std::array kBitRates{" b/s", " Kb/s", " Mb/s", " Gb/s", " Tb/s", " Pb/s"};
constexpr std::array kCounts{"", " k", " M", " G", " T", " P"};

}  // namespace

std::string time_text(double picoseconds) {
  return picoseconds == 0 ? "0" : scaled(picoseconds, kTimes);
}
std::string time_text(Duration time) { return time_text(static_cast<double>(time.count())); }
std::string bytes_text(double bytes) { return bytes == 0 ? "0" : scaled(bytes, kBytes); }
std::string byte_rate_text(double per_second) { return scaled(per_second, kByteRates); }
std::string bit_rate_text(double bits_per_second) { return scaled(bits_per_second, kBitRates); }

std::string count_text(double count) {
  constexpr double kShort = 10'000;
  return count < kShort ? fmt::format("{:.0f}", count) : scaled(count, kCounts);
}

std::string share_text(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string plain(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return text;
}

}  // namespace nerve::sim
