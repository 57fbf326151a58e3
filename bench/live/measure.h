// Measures one figure once: starts its programs on two cores, waits for them, reads what they
// print.
#pragma once

#include <optional>
#include <string>

#include "bench/live/plan.h"
#include "cli/demo_plan.h"

namespace nerve::bench {

// Two CPUs for the two ends, of different cores where there are two.
struct Cores {
  int server{};
  int client{};
};
[[nodiscard]] Cores choose_cores();

struct Place {
  cli::Stage stage;
  std::string programs;  // the folder of our own baselines
  Cores cores;
  bool realtime{};  // by `chrt -f 1`
};

// The command line of an end, as it is run; `port` is where the server listens.
enum class End : std::uint8_t { kServer, kClient };
[[nodiscard]] std::vector<std::string> command_of(const Figure& figure, const Cores& cores, End end,
                                                  std::uint16_t port);

// The figure in what the client printed.
[[nodiscard]] std::optional<double> read_figure(const Figure& figure, const std::string& text);

[[nodiscard]] cli::Outcome measure(const Place& place, const Figure& figure);

// Why programs cannot be given real-time priority here; empty when they can.
[[nodiscard]] std::string realtime_refused(const Place& place);

}  // namespace nerve::bench
