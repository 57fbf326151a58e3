#include "cli/run_ledger.h"

#include <algorithm>
#include <utility>

namespace nerve::cli {

RunLedger::RunLedger(std::vector<std::size_t> runs, std::uint32_t ranks, Clock::time_point now)
    : ranks_(ranks, Rank{.heard = now, .runs = {}}),
      waiting_{runs.begin(), runs.end()},
      left_{runs.size()} {
  if (!runs.empty()) runs_.resize(*std::ranges::max_element(runs) + 1, Run{.done = true});
  for (const std::size_t one : runs) runs_[one].done = false;
}

bool RunLedger::anyone_dead() const { return std::ranges::any_of(ranks_, &Rank::dead); }

std::optional<std::size_t> RunLedger::take(std::uint32_t rank) {
  if (waiting_.empty() || ranks_[rank].dead) return std::nullopt;
  const std::size_t run = waiting_.front();
  waiting_.pop_front();
  ranks_[rank].runs.push_back(run);
  ++runs_[run].attempts;
  return run;
}

void RunLedger::heard_of(std::uint32_t rank, Clock::time_point now) {
  ranks_[rank].heard = now;
  ranks_[rank].dead = false;
}

bool RunLedger::done(std::size_t run) {
  if (run >= runs_.size() || runs_[run].done) return false;
  runs_[run].done = true;
  --left_;
  std::erase(waiting_, run);
  for (Rank& rank : ranks_) std::erase(rank.runs, run);
  return true;
}

std::vector<std::size_t> RunLedger::bury(Clock::time_point now) {
  std::vector<std::size_t> given_up;
  for (std::size_t i = 1; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    if (rank.dead || now - rank.heard < kSilence) continue;
    rank.dead = true;
    for (const std::size_t run : std::exchange(rank.runs, {})) {
      if (runs_[run].attempts < kAttempts) {
        waiting_.push_back(run);
      } else {
        given_up.push_back(run);
      }
    }
  }
  for (const std::size_t run : given_up) (void)done(run);
  return given_up;
}

}  // namespace nerve::cli
