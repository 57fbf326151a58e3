// `nerve sweep`: runs one scenario for every combination of some values.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/mpi_ranks.h"
#include "cli/report_page.h"
#include "cli/run_folder.h"
#include "cli/scenario_input.h"
#include "cli/sim_sums.h"
#include "cli/status_line.h"
#include "cli/sweep_pool.h"
#include "cli/sweep_ranks.h"
#include "cli/sweep_resume.h"
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

--resume keeps the runs that an earlier sweep into DIR has completed, if their scenario is the same.

With mpirun, rank 0 hands out the runs to all ranks, each of which runs one at a time, or --jobs of them.
With mpirun --enable-recovery, a rank that dies loses only its runs, which others do again.

Exit code: 0  every job of every run was completed
           1  a job was not completed, the scenario is invalid, or results could not be written
           2  invalid command line
         130  Ctrl-C; completed runs are written

Examples:
    nerve sweep examples/scenarios/incast.toml --vary nic.congestion=none,dcqcn,timely,swift,hpcc
    nerve sweep first.toml --vary fabric.oversubscription=1,2,4 --vary fabric.routing=ecmp,spray
    mpirun -n 16 --enable-recovery nerve sweep first.toml --vary seed=1,2,3,4,5,6,7,8 --resume)";

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
  bool resume{};
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
    row.result = result_of_run(plan.rows.size() - 1);
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

// Those without figures.
std::vector<std::size_t> to_do(const Plan& plan) {
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    if (!plan.rows[i].figures) runs.push_back(i);
  }
  return runs;
}

// False if interrupted by Ctrl-C.
bool run_all(const SweepOptions& options, std::size_t at_once, Plan& plan) {
  StatusLine line{options.quiet};
  watch_for_interrupt();
  remove_results(plan);  // from an earlier sweep in this folder
  const std::vector<std::size_t> runs = to_do(plan);
  SweepPool pool{runs.size(), at_once};
  return pool.run(
      [&](std::size_t i, RunStatus& status) {
        return run_to_file("sweep", plan.scenarios[runs[i]],
                           plan.folder + "/" + plan.rows[runs[i]].result, status);
      },
      [&](std::size_t i, const Done& done) { collect(plan, done, plan.rows[runs[i]]); },
      [&](std::size_t done, std::size_t running, std::uint64_t events) {
        line.show([&] {
          return progress_text({done, runs.size(), running, events}, line.elapsed());
        });
      });
}

// A run for another rank, which needs no file to read it from.
struct Description {
  std::string file;  // its name
  std::string text;
  std::string name;
  std::vector<sim::Override> overrides;
};

std::string packed(const Description& run) {
  sim::Packed bytes;
  sim::Packer to{bytes};
  for (const std::string* const one : {&run.file, &run.text, &run.name}) to.put_text(*one);
  for (const sim::Override& one : run.overrides) {
    to.put_text(one.key);
    to.put_text(one.value);
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool run_described(const std::string& description, const std::string& file, RunStatus& status) {
  sim::Unpacker from{std::as_bytes(std::span{description})};
  Description run;
  for (std::string* const one : {&run.file, &run.text, &run.name}) *one = from.take_text();
  while (from.intact() && !from.at_end()) {
    sim::Override& one = run.overrides.emplace_back();
    one.key = from.take_text();
    one.value = from.take_text();
  }
  auto scenario = make_scenario(run.text, run.file, run.overrides);
  if (!scenario) {
    status.fail("this rank cannot read the scenario");
    return false;
  }
  scenario->name = run.name;
  return run_to_file("sweep", *scenario, file, status);
}

Hands hands_of(const SweepOptions& options) {
  return {.program = sum_of_program(),
          .at_once = std::max<std::size_t>(options.jobs, 1),
          .work = run_described};
}

// The same by all ranks; of rank zero.
SweepEnd run_all_together(const SweepOptions& options, const std::string& text,
                          const std::vector<sim::Override>& overrides, MpiRanks& ranks,
                          Plan& plan) {
  StatusLine line{options.quiet};
  watch_for_interrupt();
  remove_results(plan);
  const std::vector<std::size_t> runs = to_do(plan);
  const auto describe = [&](std::size_t number) {
    Description run{options.scenario, text, plan.scenarios[number].name, overrides};
    const Cell& cell = plan.rows[number].cell;
    run.overrides.insert(run.overrides.end(), cell.values.begin(), cell.values.end());
    return packed(run);
  };
  const auto keep = [&plan](std::size_t number, Done done, const std::string& result) {
    const std::string path = plan.folder + "/" + plan.rows[number].result;
    const std::string folder = std::filesystem::path{path}.parent_path().string();
    if (done.well && !(make_folder("sweep", folder) && write_file("sweep", path, result))) {
      done = {false, "its result could not be written"};
    }
    collect(plan, done, plan.rows[number]);
  };
  const auto tick = [&](std::size_t done, std::size_t running, std::uint64_t events) {
    line.show([&] { return progress_text({done, runs.size(), running, events}, line.elapsed()); });
  };
  return lead_sweep(ranks, {.runs = runs, .describe = describe, .on_done = keep, .on_tick = tick},
                    hands_of(options));
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

// What the runs depend on.
std::string sum_of_runs(const SweepOptions& options, const std::string& text,
                        const std::vector<sim::Override>& overrides) {
  std::string terms = text;
  for (const sim::Override& one : overrides) terms += "\n" + one.key + "=" + one.value;
  for (const std::string& one : options.vary) terms += "\n" + one;
  return sum_of(terms + "\n" + sum_of_program());
}

// `led`: other ranks have been told what to do, and that it is over.
int sweep(const SweepOptions& options, MpiRanks* ranks, bool& led) {
  auto overrides = parse_overrides("sweep", options.set);
  auto axes = parse_axes(options);
  if (!overrides || !axes) return kExitUsage;
  if (options.seed) overrides->push_back({"seed", std::to_string(*options.seed)});
  const auto text = read_text("sweep", options.scenario);
  if (!text) return kExitFailed;
  Plan plan;
  plan.axes = *std::move(axes);
  if (!fill(*text, options, *overrides, plan)) return kExitFailed;
  const std::size_t wanted =
      ranks != nullptr ? std::max<std::size_t>(options.jobs, 1) : options.jobs;
  const std::size_t at_once =
      how_many_at_once("sweep", plan.scenarios, {wanted, options.anyway, options.quiet});
  if (at_once == 0) return kExitFailed;
  plan.folder = options.out.empty() ? folder_for(plan.name) + "-sweep" : options.out;
  if (!make_folder("sweep", plan.folder)) return kExitFailed;
  const std::string sum = sum_of_runs(options, *text, *overrides);
  if (options.resume) {
    for (const std::size_t number : completed_runs(plan.folder, sum, plan.rows.size())) {
      collect(plan, {.well = true, .why = {}}, plan.rows[number]);
    }
  }
  if (!begin_runs(plan.folder, sum)) return kExitFailed;
  SweepEnd end = SweepEnd::kComplete;
  led = ranks != nullptr;
  if (led) {
    end = run_all_together(options, *text, *overrides, *ranks, plan);
  } else if (!run_all(options, at_once, plan)) {
    end = SweepEnd::kInterrupted;
  }
  if (end != SweepEnd::kComplete) remove_results(plan);
  if (end == SweepEnd::kFailed) return kExitFailed;
  if (end == SweepEnd::kInterrupted) {
    const auto done = std::ranges::count_if(
        plan.rows, [](const SweepRow& row) { return row.figures.has_value(); });
    fmt::print(stderr, "nerve sweep: interrupted; {} of {} runs were done\n", done,
               plan.rows.size());
  }
  const int shown = show(options, plan);
  return end == SweepEnd::kComplete ? shown : kExitInterrupted;
}

int sweep(const SweepOptions& options) {
  auto ranks = MpiRanks::find();
  if (!ranks) {
    fmt::print(stderr, "nerve sweep: {}\n", ranks.error());
    return kExitFailed;
  }
  MpiRanks* const all = ranks->get();
  if (all != nullptr && all->rank() != 0) {
    return serve_sweep(*all, hands_of(options)) ? kExitOk : kExitFailed;
  }
  bool led = false;
  const int code = sweep(options, all, led);
  if (all != nullptr && !led) all->leave();  // the others wait for something else
  return code;
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
  command->add_option("--jobs", options->jobs, "runs at once [one per core; one per rank]")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  command->add_option("--out", options->out, "folder for results [results/<name>-sweep]")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "print sweep.json instead of the table");
  command->add_flag("--quiet", options->quiet, "print no progress");
  command->add_flag("--anyway", options->anyway, "run even if memory may not suffice");
  command->add_flag("--resume", options->resume, "keep what an earlier sweep has completed");
  command->footer(kSweepFooter);
  command->callback([options, &exit_code] { exit_code = sweep(*options); });
}

}  // namespace nerve::cli
