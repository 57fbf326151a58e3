// The figures that stock programs print: perftest, qperf, iperf3.
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

}  // namespace nerve::cli
