// The figures that stock programs print: perftest, qperf, iperf3, ucx_perftest, fi_pingpong.
#pragma once

#include <optional>
#include <string>

namespace nerve::cli {

// Of ib_*_lat: the typical half round trip, in microseconds.
[[nodiscard]] std::optional<double> perftest_latency(const std::string& text);

// Of ib_*_bw --report_gbits: the averages.
struct Bandwidth {
  double gigabits{};  // per second
  double messages{};  // millions per second
};
[[nodiscard]] std::optional<Bandwidth> perftest_bandwidth(const std::string& text);

// Of qperf's tcp_lat, in microseconds; it too prints half a round trip.
[[nodiscard]] std::optional<double> qperf_latency(const std::string& text);

// Of iperf3 -J: what was received, in gigabits per second.
[[nodiscard]] std::optional<double> iperf3_bandwidth(const std::string& text);

// Of ucx_perftest -f -v.
struct UcxFigures {
  double latency{};    // half a round trip, in microseconds; the median
  double gigabytes{};  // per second, over the whole run
};
[[nodiscard]] std::optional<UcxFigures> ucx_figures(const std::string& text);

// Of fi_pingpong with one size: averages.
struct FabricFigures {
  double latency{};    // half a round trip, in microseconds
  double gigabytes{};  // per second
};
[[nodiscard]] std::optional<FabricFigures> fabric_figures(const std::string& text);

// Why there is no figure: a line that tells of an error, wherever it stands (errors are printed at
// once, the rest when the program ends), else the last that says something.
[[nodiscard]] std::string complaint(const std::string& text);

}  // namespace nerve::cli
