// What run() does for several ranks: what they must agree on, scenarios that they cannot divide,
// sums over all of them.
#pragma once

#include <cstdint>
#include <string>

#include "sim/run.h"
#include "sim/run_setup.h"
#include "sim/simulation.h"

namespace nerve::sim {

// Why these ranks cannot run this together; empty if they can.
[[nodiscard]] std::string objection_to_ranks(Ranks& ranks, const RunSetup& setup,
                                             const RunOptions& options);

// Whether rank zero has to run it alone. If so, it notes why.
[[nodiscard]] bool runs_alone(const Scenario& scenario, const RunSetup& setup,
                              const RunOptions& options);

struct OfRank {
  std::uint64_t checked{};  // bytes of payload
  std::uint64_t wrong{};
  std::uint64_t memory_bytes{};
};
// On rank zero; on other ranks, what they passed.
[[nodiscard]] OfRank sum_over_ranks(Simulation& simulation, const OfRank& here);

}  // namespace nerve::sim
