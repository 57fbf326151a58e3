// Makes a scenario smaller until its packets can be simulated: fewer layers, fewer micro-batches, a
// model whose messages and compute are smaller by the same factor, fewer servers, smaller messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/plan/study.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim::plan {

struct Shrunk {
  Scenario scenario;  // with packets
  std::string how;    // 16 servers instead of 64, 8 layers instead of 32; empty: not changed
};

// None: even the smallest has more packets than the plan allows.
[[nodiscard]] std::optional<Shrunk> shrink(const Study& study, const Option& option);

// Data packets of a run, from the bytes on its cables as flows.
[[nodiscard]] double packets_of(const Figures& flow, const Scenario& scenario);

}  // namespace nerve::sim::plan
