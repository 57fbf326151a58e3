#include "cli/sim_explain.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/file_bytes.h"
#include "cli/interrupt.h"
#include "cli/scenario_input.h"
#include "cli/status_line.h"
#include "cli/sweep_run.h"
#include "sim/results/result_json.h"
#include "sim/scenario/scenario_file.h"
#include "sim/why/variants.h"

namespace nerve::cli {
namespace {

// A variant that can run, and its place among the trials.
struct Planned {
  std::size_t trial{};
  sim::Variant variant;
  std::string path;
};

struct Trials {
  std::size_t job{};  // that is explained
  std::vector<sim::Trial> all;
  std::vector<Planned> planned;
  std::vector<sim::Scenario> scenarios;  // of each that is planned
};

void plan_trials(const sim::Scenario& scenario, const ExplainOptions& options,
                 const sim::RunResult& result, Trials& trials) {
  const auto document = sim::scenario_file::parse_document(options.text, options.file);
  if (!document) return;  // it was read before
  for (sim::Variant& variant : sim::variants_for(*document, scenario, result, trials.job)) {
    std::vector<sim::Override> all = options.overrides;
    all.insert(all.end(), variant.set.begin(), variant.set.end());
    trials.all.push_back(sim::trial_of(variant, result, {}, trials.job));
    auto changed = sim::read_scenario(options.text, options.file, all);
    if (!changed) {
      trials.all.back().error = sim::text_of(changed.error().front());
      continue;
    }
    const std::size_t number = trials.all.size() - 1;
    trials.planned.push_back({number, std::move(variant),
                              fmt::format("{}/trials/{:03}/result.json", options.folder, number)});
    trials.scenarios.push_back(*std::move(changed));
  }
}

void collect_trial(const Planned& planned, const Done& done, const sim::RunResult& result,
                   Trials& trials) {
  sim::Trial& trial = trials.all[planned.trial];
  trial.error.clear();
  if (!done.well) {
    trial.error = done.why;
    return;
  }
  const FileBytes bytes = read_bytes(planned.path);
  const std::string_view text{reinterpret_cast<const char*>(bytes.bytes.data()),
                              bytes.bytes.size()};
  const auto changed = sim::from_json(text);
  if (changed) {
    trial = sim::trial_of(planned.variant, result, *changed, trials.job);
  } else {
    trial.error = "its result could not be read: " + changed.error();
  }
}

}  // namespace

bool add_trials(const sim::Scenario& scenario, const ExplainOptions& options,
                sim::RunResult& result) {
  const auto job = sim::job_to_explain(result);
  if (!job) return true;
  Trials trials{.job = *job, .all = {}, .planned = {}, .scenarios = {}};
  plan_trials(scenario, options, result, trials);
  bool to_the_end = true;
  const std::size_t at_once =
      trials.planned.empty() ? 0
                             : how_many_at_once("sim", trials.scenarios,
                                                {options.cores, options.anyway, options.quiet});
  for (const Planned& planned : trials.planned) {
    std::error_code ignored;
    std::filesystem::remove(planned.path, ignored);  // of an earlier run
    trials.all[planned.trial].error = at_once == 0 ? "not enough memory" : "it was not run";
  }
  if (at_once > 0) {
    StatusLine line{options.quiet};
    watch_for_interrupt();
    SweepPool pool{trials.planned.size(), at_once};
    to_the_end = pool.run(
        [&trials](std::size_t number, RunStatus& status) {
          return run_to_file("sim", trials.scenarios[number], trials.planned[number].path, status);
        },
        [&](std::size_t number, const Done& done) {
          collect_trial(trials.planned[number], done, result, trials);
        },
        [&](std::size_t done, std::size_t running, std::uint64_t events) {
          line.show([&] {
            return progress_text({done, trials.planned.size(), running, events}, line.elapsed());
          });
        });
  }
  result.trials = std::move(trials.all);
  return to_the_end;
}

}  // namespace nerve::cli
