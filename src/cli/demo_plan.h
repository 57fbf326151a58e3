// What `nerve demo` measures: stock programs, two ends each, over shared memory, over UDP, and TCP
// beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace nerve::cli {

enum class Figure : std::uint8_t { kLatency, kBandwidth, kMessages, kTcpLatency, kTcpBandwidth };

// One end listens, the other gets the address as its last argument.
struct Measure {
  std::string program;
  std::string package;
  std::vector<std::string> options;
  Figure figure{};
};

// A row of the table: what is measured over both of our transports, and what is beside it.
struct DemoRow {
  std::string title;
  Measure ours;
  std::optional<Measure> tcp;
};

[[nodiscard]] std::vector<DemoRow> demo_rows();

// "0.61 us", "12.3 GB/s", "5.1 M/s".
[[nodiscard]] std::string figure_text(Figure figure, double value);

// The figure in what the client printed.
[[nodiscard]] std::optional<double> read_figure(Figure figure, const std::string& text);

// Where a demonstration runs.
struct Stage {
  std::string library_folder;
  std::string folder;  // for logs and the capture
  std::string path;    // where programs are sought
};

// The environment of a program: ours without this user's own settings.
[[nodiscard]] host::Environment demo_environment(const Stage& stage,
                                                 const host::Environment& settings);

// Both ends of a measure, one after the other.
struct Outcome {
  std::optional<double> value;
  std::string why;  // when there is none
};
[[nodiscard]] Outcome run_measure(const Stage& stage, const Measure& measure,
                                  const host::Environment& settings);

}  // namespace nerve::cli
