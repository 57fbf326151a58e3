// `nerve sweep`: runs one scenario for every combination of some values.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/report_page.h"
#include "cli/run_folder.h"
#include "cli/scenario_input.h"
#include "cli/status_line.h"
#include "cli/sweep_pool.h"
#include "cli/sweep_run.h"
#include "cli/sweep_table.h"
#include "sim/results/result_json.h"
#include "sim/scenario/scenario_file.h"

namespace nerve::cli {
namespace {

constexpr const char* kSweepFooter = R"(
Each --vary names a key and its values; every combination is a run, in a process of its own, on all
cores or on --jobs of them. Keys and values are written as for --set of nerve sim.

Prints a table and writes DIR/sweep.json, DIR/report.html with all runs side by side, and
DIR/<number>/result.json of each. docs/scenarios.md describes sweep.json.

Exit code: 0  every job of every run was completed
           1  a job was not completed, the scenario is invalid, or results could not be written
           2  invalid command line
         130  Ctrl-C; completed runs are written

Examples:
    nerve sweep examples/scenarios/incast.toml --vary nic.congestion=none,dcqcn,timely,swift,hpcc
    nerve sweep first.toml --vary fabric.oversubscription=1,2,4 --vary fabric.routing=ecmp,spray)";

struct SweepOptions {
  std::string scenario;
  std::vector<std::string> vary;
  std::vector<std::string> set;
  std::optional<std::int64_t> seed;
  std::size_t jobs{};
  std::string out;
  bool json{};
  bool quiet{};
  bool anyway{};
};

struct Plan {
  std::string name;  // of the scenario
  std::vector<Axis> axes;
  std::vector<SweepRow> rows;
  std::vector<sim::Scenario> scenarios;  // of each row
  std::string folder;
};

std::optional<std::vector<Axis>> parse_axes(const SweepOptions& options) {
  std::vector<Axis> axes;
  for (const std::string& word : options.vary) {
    auto axis = parse_axis(word);
    if (!axis) {
      fmt::print(stderr, "nerve sweep: --vary {}\n", axis.error());
      return std::nullopt;
    }
    axes.push_back(*std::move(axis));
  }
  return axes;
}

// Reads every scenario before the first run, so that an error in the last one is found at once.
bool fill(const std::string& text, const SweepOptions& options,
          const std::vector<sim::Override>& overrides, Plan& plan) {
  for (Cell& cell : cells_of(plan.axes)) {
    std::vector<sim::Override> all = overrides;
    all.insert(all.end(), cell.values.begin(), cell.values.end());
    auto scenario = make_scenario(text, options.scenario, all);
    if (!scenario) {
      fmt::print(stderr, "nerve sweep: this error is for {}\n", name_of(cell));
      return false;
    }
    if (plan.name.empty()) plan.name = scenario->name;
    scenario->name += " (" + name_of(cell) + ")";  // for reports that show several
    plan.scenarios.push_back(*std::move(scenario));
    SweepRow& row = plan.rows.emplace_back();
    row.result = fmt::format("{:03}/result.json", plan.rows.size() - 1);
    row.cell = std::move(cell);
  }
  if (!plan.rows.empty()) return true;
  fmt::print(stderr, "nerve sweep: more than {} runs; use fewer values\n", kMostCells);
  return false;
}

void collect(const Plan& plan, const Done& done, SweepRow& row) {
  if (!done.well) {
    row.error = done.why;
    return;
  }
  const auto text = read_text("sweep", plan.folder + "/" + row.result);
  if (!text) {
    row.error = "its result could not be read";
    return;
  }
  const auto result = sim::from_json(*text);
  if (result) {
    row.figures = figures_of(*result);
  } else {
    row.error = result.error();
  }
}

// Removes the results of runs that have no figures, including partial files.
void remove_results(const Plan& plan) {
  for (const SweepRow& row : plan.rows) {
    if (row.figures) continue;
    std::error_code ignored;
    std::filesystem::remove(plan.folder + "/" + row.result, ignored);
    std::filesystem::remove(partial_of(plan.folder + "/" + row.result), ignored);
  }
}

// False if interrupted by Ctrl-C.
bool run_all(const SweepOptions& options, std::size_t at_once, Plan& plan) {
  StatusLine line{options.quiet};
  watch_for_interrupt();
  remove_results(plan);  // from an earlier sweep in this folder
  SweepPool pool{plan.rows.size(), at_once};
  return pool.run(
      [&plan](std::size_t number, RunStatus& status) {
        return run_to_file("sweep", plan.scenarios[number],
                           plan.folder + "/" + plan.rows[number].result, status);
      },
      [&plan](std::size_t number, const Done& done) { collect(plan, done, plan.rows[number]); },
      [&line, &plan](std::size_t done, std::size_t running, std::uint64_t events) {
        line.show([&] {
          return progress_text({done, plan.rows.size(), running, events}, line.elapsed());
        });
      });
}

int show(const SweepOptions& options, const Plan& plan) {
  const std::string json = sweep_json(plan.name, plan.axes, plan.rows);
  if (!write_file("sweep", plan.folder + "/sweep.json", json)) return kExitFailed;
  bool all_well = true;
  std::vector<std::string> results;
  for (const SweepRow& row : plan.rows) {
    all_well = all_well && row.figures && row.figures->all_done;
    if (!row.figures) continue;
    if (auto text = read_text("sweep", plan.folder + "/" + row.result)) {
      results.push_back(*std::move(text));
    }
  }
  fmt::print("{}", options.json ? json : sweep_table(plan.axes, plan.rows));
  if (!results.empty() &&
      !write_file("sweep", plan.folder + "/report.html", report_page(results))) {
    return kExitFailed;
  }
  if (!options.quiet) {
    fmt::print(stderr, "nerve sweep: results in {0}/sweep.json, a page in {0}/report.html\n",
               plan.folder);
  }
  return all_well ? kExitOk : kExitFailed;
}

int sweep(const SweepOptions& options) {
  auto overrides = parse_overrides("sweep", options.set);
  auto axes = parse_axes(options);
  if (!overrides || !axes) return kExitUsage;
  if (options.seed) overrides->push_back({"seed", std::to_string(*options.seed)});
  const auto text = read_text("sweep", options.scenario);
  if (!text) return kExitFailed;
  Plan plan;
  plan.axes = *std::move(axes);
  if (!fill(*text, options, *overrides, plan)) return kExitFailed;
  const std::size_t at_once =
      how_many_at_once("sweep", plan.scenarios, {options.jobs, options.anyway, options.quiet});
  if (at_once == 0) return kExitFailed;
  plan.folder = options.out.empty() ? folder_for(plan.name) + "-sweep" : options.out;
  if (!make_folder("sweep", plan.folder)) return kExitFailed;
  const bool to_the_end = run_all(options, at_once, plan);
  if (!to_the_end) {
    remove_results(plan);
    const auto done = std::ranges::count_if(
        plan.rows, [](const SweepRow& row) { return row.figures.has_value(); });
    fmt::print(stderr, "nerve sweep: interrupted; {} of {} runs were done\n", done,
               plan.rows.size());
  }
  const int shown = show(options, plan);
  return to_the_end ? shown : kExitInterrupted;
}

}  // namespace

void add_sweep(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* command = program.add_subcommand("sweep", kSweepSummary);
  command->add_option("SCENARIO", options->scenario, "a TOML file")->required();
  command->add_option("--vary", options->vary, "a key and its values; repeatable")
      ->type_name("KEY=A,B,C")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--set", options->set, "override a value for all runs; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--seed", options->seed, "random seed, overrides the file")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--jobs", options->jobs, "runs at once [one per core]")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  command->add_option("--out", options->out, "folder for results [results/<name>-sweep]")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "print sweep.json instead of the table");
  command->add_flag("--quiet", options->quiet, "print no progress");
  command->add_flag("--anyway", options->anyway, "run even if memory may not suffice");
  command->footer(kSweepFooter);
  command->callback([options, &exit_code] { exit_code = sweep(*options); });
}

}  // namespace nerve::cli
