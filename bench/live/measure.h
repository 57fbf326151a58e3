// Measures one figure once: starts its programs on two cores, waits for them and parses their
// output.
#pragma once

#include <optional>
#include <string>

#include "bench/live/plan.h"
#include "cli/demo_plan.h"

namespace nerve::bench {

// One CPU for each end, on different cores if there are two.
struct Cores {
  int server{};
  int client{};
};
[[nodiscard]] Cores choose_cores();

// The file with the key of sealed figures, in the folder of the stage.
inline constexpr const char* kSealKey = "/seal-key.toml";

struct Place {
  cli::Stage stage;
  std::string programs;  // the folder of our own programs
  Cores cores;
  bool realtime{};  // run under `chrt -f 1`
};

// The command line of an end; `port` is the server's port.
enum class End : std::uint8_t { kServer, kClient };
[[nodiscard]] std::vector<std::string> command_of(const Figure& figure, const Cores& cores, End end,
                                                  std::uint16_t port);

// Parses the figure from the client's output.
[[nodiscard]] std::optional<double> read_figure(const Figure& figure, const std::string& text);

[[nodiscard]] cli::Outcome measure(const Place& place, const Figure& figure);

// Why programs cannot run with real-time priority here; empty if they can.
[[nodiscard]] std::string realtime_refused(const Place& place);

}  // namespace nerve::bench
