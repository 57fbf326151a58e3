#include "cli/plan_run.h"

#include <fmt/format.h>

#include <map>

#include "cli/file_bytes.h"
#include "cli/interrupt.h"
#include "cli/run_folder.h"
#include "cli/status_line.h"
#include "cli/sweep_run.h"

namespace nerve::cli {
namespace {

namespace plan = sim::plan;

std::optional<plan::Figures> figures_in(const std::string& path) {
  const FileBytes bytes = read_bytes(path);
  if (!bytes.error.empty()) return std::nullopt;
  return plan::figures_from_json(
      {reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()});
}

bool figures_to_file(const sim::Scenario& scenario, const std::string& path, RunStatus& status) {
  const auto result = run_in_child(scenario, status);
  if (!result) return false;
  if (write_file("plan", path, plan::to_json(plan::figures_of(*result)))) return true;
  status.fail("its figures could not be written");
  return false;
}

}  // namespace

std::string PlanRuns::path_of(const plan::PlannedRun& run) const {
  return options_.folder + "/runs/" + run.key + ".json";
}

bool PlanRuns::run(const std::string& what, const std::vector<plan::PlannedRun>& runs,
                   std::vector<plan::RunOutcome>& outcomes) {
  outcomes.assign(runs.size(), {});
  std::map<std::string, std::size_t> first;  // of several runs that are the same
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!first.try_emplace(runs[i].key, i).second) continue;
    outcomes[i].figures = figures_in(path_of(runs[i]));
    if (outcomes[i].figures) {
      ++kept_;
    } else {
      missing.push_back(i);
    }
  }
  if (!missing.empty() && !run_new(what, runs, missing, outcomes)) return false;
  for (std::size_t i = 0; i < runs.size(); ++i) outcomes[i] = outcomes[first.at(runs[i].key)];
  return true;
}

bool PlanRuns::run_new(const std::string& what, const std::vector<plan::PlannedRun>& runs,
                       const std::vector<std::size_t>& missing,
                       std::vector<plan::RunOutcome>& outcomes) {
  std::vector<sim::Scenario> scenarios;
  scenarios.reserve(missing.size());
  for (const std::size_t i : missing) scenarios.push_back(runs[i].scenario);
  const std::size_t at_once =
      how_many_at_once("plan", scenarios, {options_.jobs, options_.anyway, options_.quiet});
  if (at_once == 0) return false;
  StatusLine line{options_.quiet};
  watch_for_interrupt();
  SweepPool pool{missing.size(), at_once};
  const bool to_the_end = pool.run(
      [&](std::size_t number, RunStatus& status) {
        return figures_to_file(scenarios[number], path_of(runs[missing[number]]), status);
      },
      [&](std::size_t number, const Done& done) {
        plan::RunOutcome& outcome = outcomes[missing[number]];
        ++run_;
        if (done.well) {
          outcome.figures = figures_in(path_of(runs[missing[number]]));
          if (!outcome.figures) outcome.error = "its figures could not be read";
        } else {
          outcome.error = done.why;
        }
      },
      [&](std::size_t done, std::size_t running, std::uint64_t events) {
        line.show([&] {
          return what + " " +
                 progress_text({done, missing.size(), running, events}, line.elapsed());
        });
      });
  interrupted_ = !to_the_end;
  return to_the_end;
}

}  // namespace nerve::cli
