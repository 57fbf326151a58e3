// Runs of scenarios in the children of a SweepPool: how many at once, what each does, and their
// progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cli/sweep_pool.h"
#include "sim/results/run_result.h"
#include "sim/scenario/scenario.h"

namespace nerve::cli {

struct AtOnce {
  std::size_t wanted{};  // zero: the number of cores
  bool anyway{};         // even if memory may not suffice
  bool quiet{};
};
// Limited by available memory; zero, after an error message, if not even one run fits.
[[nodiscard]] std::size_t how_many_at_once(const std::string& command,
                                           std::span<const sim::Scenario> scenarios,
                                           const AtOnce& options);

// Runs in the child, which reports its progress and its failure.
[[nodiscard]] std::optional<sim::RunResult> run_in_child(const sim::Scenario& scenario,
                                                         RunStatus& status);
// The same, and writes the result to this path.
[[nodiscard]] bool run_to_file(const std::string& command, const sim::Scenario& scenario,
                               const std::string& path, RunStatus& status);

// [###...] 3 of 8 runs, 2 at once, 4.2 M events/s, 12 s, about 20 s to go
struct PoolState {
  std::size_t done{};
  std::size_t all{};
  std::size_t running{};
  std::uint64_t events{};
};
[[nodiscard]] std::string progress_text(const PoolState& state,
                                        std::chrono::duration<double> elapsed);

}  // namespace nerve::cli
