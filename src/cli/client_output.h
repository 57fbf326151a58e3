// Parsers for the results that stock programs print: perftest, qperf, iperf3, ucx_perftest,
// fi_pingpong.
#pragma once

#include <optional>
#include <string>

namespace nerve::cli {

// ib_*_lat: the typical half round trip in microseconds.
[[nodiscard]] std::optional<double> perftest_latency(const std::string& text);

// ib_*_bw --report_gbits: the averages.
struct Bandwidth {
  double gigabits{};  // per second
  double messages{};  // millions per second
};
[[nodiscard]] std::optional<Bandwidth> perftest_bandwidth(const std::string& text);

// qperf tcp_lat, in microseconds: also half a round trip.
[[nodiscard]] std::optional<double> qperf_latency(const std::string& text);

// iperf3 -J: received gigabits per second.
[[nodiscard]] std::optional<double> iperf3_bandwidth(const std::string& text);

// ucx_perftest -f -v.
struct UcxFigures {
  double latency{};    // half a round trip, in microseconds; the median
  double gigabytes{};  // per second, over the whole run
};
[[nodiscard]] std::optional<UcxFigures> ucx_figures(const std::string& text);

// fi_pingpong with one message size: averages.
struct FabricFigures {
  double latency{};    // half a round trip, in microseconds
  double gigabytes{};  // per second
};
[[nodiscard]] std::optional<FabricFigures> fabric_figures(const std::string& text);

// Explains why there is no result: the first line that reports an error, or the last line that is
// not empty. Errors may come first, because stderr is not buffered.
[[nodiscard]] std::string complaint(const std::string& text);

}  // namespace nerve::cli
