// Many small runs at once, on threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/learn_score.h"
#include "nic/config.h"
#include "nic/flow_control/policy.h"

namespace nerve::cli {

struct LearnRun {
  const sim::Scenario* scenario{};
  nic::CcAlgorithm algorithm{nic::CcAlgorithm::kLearned};
  std::shared_ptr<const nic::Policy> policy;  // null: the shipped one
  Duration until{};                           // zero: as the scenario says
  bool fair{};  // messages as flows with fair rates instead: what no algorithm can beat by much
};

// Called now and then in the calling thread.
using LearnTick = std::function<void(std::size_t done, std::size_t all)>;

struct LearnOutcome {
  LearnFigures figures{};
  std::string trouble;  // why it cannot be built; otherwise empty
};
enum class LearnEnd : std::uint8_t {
  kInterrupted,  // by Ctrl-C
  kRankLost,     // a rank of mpirun has died
};
// The outcome of each run, in their order.
[[nodiscard]] Result<std::vector<LearnOutcome>, LearnEnd> run_learning(
    const std::vector<LearnRun>& runs, std::size_t threads, const LearnTick& tick);

}  // namespace nerve::cli
