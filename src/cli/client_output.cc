#include "cli/client_output.h"

#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

namespace nerve::cli {
namespace {

// The numbers of the last result line, below the line that begins with "#bytes".
std::vector<double> figures(const std::string& text) {
  std::vector<double> numbers;
  std::istringstream lines{text};
  bool titled = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields{line};
    std::string first;
    fields >> first;
    if (first.starts_with("#bytes")) titled = true;
    if (!titled || first.empty() || std::isdigit(static_cast<unsigned char>(first[0])) == 0) {
      continue;
    }
    std::istringstream again{line};
    numbers.clear();
    for (double number = 0; again >> number;) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::optional<double> perftest_latency(const std::string& text) {
  // Columns: bytes, iterations, min, max, typical, ...
  const std::vector<double> numbers = figures(text);
  if (numbers.size() < 5) return std::nullopt;
  return numbers[4];
}

std::optional<Bandwidth> perftest_bandwidth(const std::string& text) {
  // Columns: bytes, iterations, peak, average, millions of messages.
  const std::vector<double> numbers = figures(text);
  if (numbers.size() < 5) return std::nullopt;
  return Bandwidth{.gigabits = numbers[3], .messages = numbers[4]};
}

std::optional<double> qperf_latency(const std::string& text) {
  const std::size_t at = text.find("latency");
  if (at == std::string::npos) return std::nullopt;
  std::istringstream fields{text.substr(at)};
  std::string skipped;
  std::string unit;
  double number = 0;
  if (!(fields >> skipped >> skipped >> number >> unit)) return std::nullopt;
  if (unit == "ns") return number / 1000;
  if (unit == "us") return number;
  if (unit == "ms") return number * 1000;
  return std::nullopt;
}

std::optional<double> iperf3_bandwidth(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const nlohmann::json::json_pointer place{"/end/sum_received/bits_per_second"};
  if (json.is_discarded() || !json.contains(place) || !json[place].is_number()) return std::nullopt;
  return json[place].get<double>() / 1e9;
}

std::optional<UcxFigures> ucx_figures(const std::string& text) {
  // Columns: iterations; latency: median, recent, overall; bandwidth: recent, overall; ...
  constexpr double kTheirMegabyte = 1 << 20;
  std::istringstream lines{text};
  std::optional<UcxFigures> found;
  for (std::string line; std::getline(lines, line);) {
    std::vector<double> numbers;
    std::istringstream fields{line};
    char comma = ',';
    for (double number = 0; comma == ',' && fields >> number; fields >> comma) {
      numbers.push_back(number);
    }
    if (numbers.size() < 6) continue;
    found = {.latency = numbers[1], .gigabytes = numbers[5] * kTheirMegabyte / 1e9};
  }
  return found;
}

std::optional<FabricFigures> fabric_figures(const std::string& text) {
  const std::size_t title = text.find("usec/xfer");
  const std::size_t begin = text.find('\n', title);
  if (title == std::string::npos || begin == std::string::npos) return std::nullopt;
  // Skipped columns: size, sent and acknowledged, as "10k" and "=10k"; total; "0.18s".
  std::istringstream fields{text.substr(begin)};
  std::string skipped;
  for (int i = 0; i < 5; ++i) fields >> skipped;
  double megabytes = 0;
  double latency = 0;
  if (!(fields >> megabytes >> latency)) return std::nullopt;
  return FabricFigures{.latency = latency, .gigabytes = megabytes / 1e3};
}

std::string complaint(const std::string& text) {
  std::string last;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" -\t\r");
    if (begin == std::string::npos) continue;
    last = line.substr(begin);
    for (const std::string_view word :
         {"error", "Error", "ERROR", "ailed", "ouldn't", "nable to"}) {
      if (last.find(word) != std::string::npos) return last;
    }
  }
  return last;
}

}  // namespace nerve::cli
