// Who takes part in a search: this process, or the ranks that mpirun has started. All ranks make
// the same search; each does its share of the runs, and rank zero prints and writes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/learn_runs.h"
#include "cli/mpi_ranks.h"

namespace nerve::cli {

class LearnTeam {
 public:
  // The error says why the ranks cannot work together.
  [[nodiscard]] static Result<LearnTeam, std::string> gather();

  [[nodiscard]] bool leads() const { return ranks_ == nullptr || ranks_->rank() == 0; }
  // What rank zero says comes first: the others wait until it has found no trouble of its own.
  // Empty if no rank is in trouble.
  [[nodiscard]] std::string trouble_of_all(const std::string& mine);
  // Why the ranks would not make the same search; empty if they would.
  [[nodiscard]] std::string difference(const std::vector<sim::Term>& terms);
  // Whether this holds for any rank.
  [[nodiscard]] bool any(bool mine) { return !trouble_of_all(mine ? "so it is" : "").empty(); }

  // As run_learning(), in the same order on all ranks. `jobs`: runs of a rank at once; zero: one on
  // each core, or one if there are several ranks.
  [[nodiscard]] Result<std::vector<LearnOutcome>, LearnEnd> run(const std::vector<LearnRun>& runs,
                                                                std::size_t jobs,
                                                                const LearnTick& tick);
  // Something went wrong here that the others do not know of: do not wait for them.
  void leave() {
    if (ranks_ != nullptr) ranks_->leave();
  }

 private:
  explicit LearnTeam(std::unique_ptr<MpiRanks> ranks) : ranks_{std::move(ranks)} {}

  std::unique_ptr<MpiRanks> ranks_;  // null: this process is alone
};

}  // namespace nerve::cli
