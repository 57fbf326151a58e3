// A result as text for a terminal.
#pragma once

#include <span>
#include <string>

#include "sim/results/run_result.h"

namespace nerve::sim {

// What ran, its time and its bound, and what happened in the fabric.
[[nodiscard]] std::string summary(const RunResult& result);

// One column per run, one row per figure, with the ratio to the first run. Jobs are matched by
// name.
[[nodiscard]] std::string comparison(std::span<const RunResult> results);

// The error of each figure of a run as flows, relative to the same run with packets.
[[nodiscard]] std::string flow_errors(const RunResult& packets, const RunResult& flows);
// What happened in a run with packets that flows leave out; empty if nothing did.
[[nodiscard]] std::string beyond_flows(const RunResult& packets);

}  // namespace nerve::sim
