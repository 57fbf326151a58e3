// The measurements of `nerve demo`: stock programs over shared memory and over UDP, and TCP for
// comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace nerve::cli {

enum class Figure : std::uint8_t { kLatency, kBandwidth, kMessages, kTcpLatency, kTcpBandwidth };

// A client-server program: the client gets the server's address as an argument.
struct Measure {
  std::string program;
  std::string package;
  std::vector<std::string> options;
  Figure figure{};
};

// A row of the table: a measurement over both of our transports, and its TCP counterpart.
struct DemoRow {
  std::string title;
  Measure ours;
  std::optional<Measure> tcp;
};

[[nodiscard]] std::vector<DemoRow> demo_rows();

// "0.61 us", "12.3 GB/s", "5.1 M/s".
[[nodiscard]] std::string figure_text(Figure figure, double value);

// Extracts the result from the client's output.
[[nodiscard]] std::optional<double> read_figure(Figure figure, const std::string& text);

// Where the demo runs.
struct Stage {
  std::string library_folder;
  std::string folder;  // for logs and the capture
  std::string path;    // to search for programs
};

// The environment for a program: ours without the user's NERVE_ settings.
[[nodiscard]] host::Environment demo_environment(const Stage& stage,
                                                 const host::Environment& settings);

// Runs both ends of a measurement.
struct Outcome {
  std::optional<double> value;
  std::string why;  // the reason, if there is no value
};
[[nodiscard]] Outcome run_measure(const Stage& stage, const Measure& measure,
                                  const host::Environment& settings);

}  // namespace nerve::cli
