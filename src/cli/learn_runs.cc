#include "cli/learn_runs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "cli/interrupt.h"
#include "sim/run.h"

namespace nerve::cli {
namespace {

// An ACK for each packet, as settle.cc chooses for algorithms that measure round trips.
std::uint32_t ack_every(nic::CcAlgorithm algorithm) {
  const bool by_round_trip =
      algorithm != nic::CcAlgorithm::kNone && algorithm != nic::CcAlgorithm::kDcqcn;
  return by_round_trip ? 1 : nic::FlowControlConfig{}.ack_every;
}

LearnOutcome outcome_of(const LearnRun& run) {
  sim::Scenario scenario = *run.scenario;
  scenario.nics.flow_control.algorithm = run.algorithm;
  scenario.nics.flow_control.ack_every = ack_every(run.algorithm);
  scenario.nics.policy = run.policy;
  if (run.fair) scenario.fidelity = sim::Fidelity::kFlow;
  if (run.until > Duration{}) scenario.until = std::min(scenario.until, run.until);
  const auto result = sim::run(scenario);
  LearnOutcome outcome;
  if (result) {
    outcome.figures = learn_figures(*result);
  } else {
    outcome.trouble = result.error();
  }
  return outcome;
}

}  // namespace

Result<std::vector<LearnOutcome>, LearnEnd> run_learning(const std::vector<LearnRun>& runs,
                                                         std::size_t threads,
                                                         const LearnTick& tick) {
  constexpr std::chrono::milliseconds kTick{50};
  std::vector<LearnOutcome> outcomes(runs.size());
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  const auto work = [&] {
    while (!interrupted()) {
      const std::size_t number = next.fetch_add(1);
      if (number >= runs.size()) return;
      outcomes[number] = outcome_of(runs[number]);
      done.fetch_add(1);
    }
  };
  {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < std::clamp<std::size_t>(threads, 1, runs.size() + 1); ++i) {
      all.emplace_back(work);
    }
    while (done.load() < runs.size() && !interrupted()) {
      std::this_thread::sleep_for(kTick);
      if (tick) tick(done.load(), runs.size());
    }
  }
  if (done.load() < runs.size()) return Unexpected{LearnEnd::kInterrupted};
  return outcomes;
}

}  // namespace nerve::cli
