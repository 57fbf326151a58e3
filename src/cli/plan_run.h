// The runs of a plan, in the children of a SweepPool. Their figures are kept in files named after
// the scenario, so that a plan that is continued, or changed a little, runs only what is new.
#pragma once

#include <string>
#include <vector>

#include "sim/plan/work.h"

namespace nerve::cli {

struct PlanRunOptions {
  std::string folder;  // of the plan; runs are in runs/
  std::size_t jobs{};  // at once; zero: one per core
  bool anyway{};
  bool quiet{};
};

class PlanRuns {
 public:
  explicit PlanRuns(PlanRunOptions options) : options_{std::move(options)} {}

  // Runs those that no file has yet. False on Ctrl-C, or if memory does not suffice for one of
  // them.
  [[nodiscard]] bool run(const std::string& what, const std::vector<sim::plan::PlannedRun>& runs,
                         std::vector<sim::plan::RunOutcome>& outcomes);

  [[nodiscard]] bool was_interrupted() const { return interrupted_; }
  [[nodiscard]] std::size_t run_count() const { return run_; }
  [[nodiscard]] std::size_t kept_count() const { return kept_; }

 private:
  [[nodiscard]] std::string path_of(const sim::plan::PlannedRun& run) const;
  [[nodiscard]] bool run_new(const std::string& what,
                             const std::vector<sim::plan::PlannedRun>& runs,
                             const std::vector<std::size_t>& missing,
                             std::vector<sim::plan::RunOutcome>& outcomes);

  PlanRunOptions options_;
  std::size_t run_{};
  std::size_t kept_{};
  bool interrupted_{};
};

}  // namespace nerve::cli
