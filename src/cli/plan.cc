// `nerve plan`: chooses servers and a network for a job, with their cost.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/plan_page.h"
#include "cli/plan_run.h"
#include "cli/run_folder.h"
#include "cli/scenario_input.h"
#include "sim/plan/conclusion.h"
#include "sim/plan/market.h"
#include "sim/plan/plan_file.h"
#include "sim/plan/plan_report.h"
#include "sim/plan/work.h"

namespace nerve::cli {
namespace {

namespace plan = sim::plan;

constexpr const char* kPlanFooter = R"(
A plan is a TOML file: jobs as in a scenario, how many GPUs or which budget, what may vary, and limits.
docs/plan.md explains it, --keys lists its keys, examples/plans/ contains examples.

Every combination is a candidate. Those that cannot be built, exceed a limit or cannot be better than a
cheaper one are left out, with the reason; the others are estimated with messages as flows, and the
finalists are simulated packet by packet with several seeds. A price is a range, and results carry it.

Prints a table, the bill of materials of the best, one sentence of advice and its reasons. Writes
DIR/plan.json, DIR/plan.html, one page to look at in a browser, and DIR/<number>.toml of each finalist,
a scenario for `nerve sim`. The same plan gives the same plan.json, on every machine.

--explain A,B also says why candidate A beats B, by their numbers in the table; runs that are in DIR
are not repeated, as with --resume.

Ctrl-C ends the runs; --resume continues with those that are in DIR.

Exit code: 0  a candidate is advised
           1  no candidate keeps the limits, the plan is invalid, or results could not be written
           2  invalid command line
         130  Ctrl-C

Examples:
    nerve plan examples/plans/first.toml
    nerve plan first.toml --set plan.gpus=256 --set 'vary.network=["roce","infiniband"]'
    nerve plan first.toml --explain 3,12
    nerve plan --prices
    nerve plan --market)";

struct PlanOptions {
  std::string file;
  std::vector<std::string> set;
  std::string out;
  std::vector<std::size_t> explain;  // two candidates, or none
  std::size_t jobs{};
  bool resume{};
  bool json{};
  bool quiet{};
  bool anyway{};
  bool keys{};
  bool prices{};
  bool market{};
};

void print_errors(const std::vector<sim::ScenarioError>& errors) {
  for (const sim::ScenarioError& error : errors) fmt::print(stderr, "{}\n", sim::text_of(error));
}

void print_plan_keys() {
  std::string table = "?";
  for (const sim::ScenarioKey& key : plan::plan_keys()) {
    if (key.table != table) fmt::print("\n{}\n", key.table.empty() ? "at the top" : key.table);
    table = key.table;
    fmt::print("  {:<22}{}\n{:24}takes {}; default: {}\n", key.name, key.meaning, "", key.takes,
               key.fallback.empty() ? "none" : key.fallback);
  }
}

std::optional<plan::Prices> prices_for(const std::string& file) {
  if (file.empty()) return plan::default_prices();
  const auto text = read_text("plan", file);
  if (!text) return std::nullopt;
  auto prices = plan::read_prices(*text, file, plan::default_prices());
  if (prices) return *std::move(prices);
  print_errors(prices.error());
  return std::nullopt;
}

std::optional<plan::Study> study_of(const PlanOptions& options) {
  const auto overrides = parse_overrides("plan", options.set);
  if (!overrides) return std::nullopt;
  const auto text = read_text("plan", options.file);
  if (!text) return std::nullopt;
  auto spec = plan::read_plan(*text, options.file, *overrides);
  if (!spec) {
    print_errors(spec.error());
    return std::nullopt;
  }
  auto prices = prices_for(spec->prices);
  if (!prices) return std::nullopt;
  auto study = plan::make_study(*std::move(spec), *std::move(prices));
  if (study) return *std::move(study);
  print_errors(study.error());
  return std::nullopt;
}

bool write_scenarios(const std::string& folder, const plan::Study& study,
                     const plan::Conclusion& conclusion) {
  for (const std::size_t number : conclusion.ranking) {
    const plan::Option& option = study.options[number - 1];
    const std::string text = "# Candidate " + std::to_string(number) + " of the plan " +
                             study.spec.name + ": " + option.name + "\n" +
                             plan::scenario_text(study.spec, option.overrides);
    if (!write_file("plan", fmt::format("{}/{}.toml", folder, number), text)) return false;
  }
  return true;
}

// Removes the figures of an earlier plan, and nothing else that may be in the folder.
void forget_runs(const std::string& folder) {
  constexpr std::size_t kKey = 32;  // hex digits
  std::error_code ignored;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{folder, ignored}) {
    const std::string stem = entry.path().stem().string();
    const bool is_key =
        stem.size() == kKey && stem.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (is_key && entry.path().extension() == ".json") files.push_back(entry.path());
  }
  for (const std::filesystem::path& file : files) std::filesystem::remove(file, ignored);
}

// A candidate by its number; null, after an error message, if there is none.
const plan::Option* candidate_of(const plan::Study& study, std::size_t number) {
  if (number >= 1 && number <= study.options.size()) return &study.options[number - 1];
  fmt::print(stderr, "nerve plan: --explain: there is no candidate {}; they are numbered 1 to {}\n",
             number, study.options.size());
  return nullptr;
}

int show(const PlanOptions& options, const std::string& folder, const plan::Study& study) {
  const plan::Conclusion conclusion = plan::conclude(study);
  const std::string json = plan::plan_json(study, conclusion);
  fmt::print("{}", options.json ? json : plan::plan_table(study, conclusion));
  (void)std::fflush(stdout);
  const bool written = write_file("plan", folder + "/plan.json", json) &&
                       write_file("plan", folder + "/plan.html", plan_page(json)) &&
                       write_scenarios(folder, study, conclusion);
  if (!written) return kExitFailed;
  if (!options.quiet) {
    fmt::print(stderr, "nerve plan: results in {0}/plan.json, a page in {0}/plan.html\n", folder);
  }
  if (!options.explain.empty()) {
    const plan::Option* a = candidate_of(study, options.explain[0]);
    const plan::Option* b = candidate_of(study, options.explain[1]);
    if (a == nullptr || b == nullptr) return kExitUsage;
    fmt::print("\n");
    for (const std::string& line : plan::explain(study, *a, *b)) fmt::print("{}\n", line);
  }
  return conclusion.best != 0 ? kExitOk : kExitFailed;
}

int make_plan(const PlanOptions& options) {
  if (options.keys) {
    print_plan_keys();
    return kExitOk;
  }
  if (options.market) {
    fmt::print("{}", plan::drawn(plan::market()));
    return kExitOk;
  }
  if (options.prices && options.file.empty()) {
    fmt::print("{}", plan::price_table(plan::default_prices()));
    return kExitOk;
  }
  if (options.file.empty()) {
    fmt::print(stderr, "nerve plan: no plan given; try: nerve plan examples/plans/first.toml\n");
    return kExitUsage;
  }
  auto study = study_of(options);
  if (!study) return kExitFailed;
  if (options.prices) {
    fmt::print("{}", plan::price_table(study->prices));
    return kExitOk;
  }
  const std::string folder =
      options.out.empty() ? folder_for(study->spec.name) + "-plan" : options.out;
  if (!make_folder("plan", folder) || !make_folder("plan", folder + "/runs")) return kExitFailed;
  if (!options.resume && options.explain.empty()) forget_runs(folder + "/runs");
  PlanRuns runs{{folder, options.jobs, options.anyway, options.quiet}};
  const plan::RunAll run_all = [&runs](const std::string& what, const auto& planned,
                                       auto& outcomes) {
    return runs.run(what, planned, outcomes);
  };
  if (!plan::estimate_all(*study, run_all) || !plan::simulate_finalists(*study, run_all)) {
    if (!runs.was_interrupted()) return kExitFailed;
    fmt::print(stderr, "nerve plan: interrupted; {} runs were done, --resume continues with them\n",
               runs.run_count() + runs.kept_count());
    return kExitInterrupted;
  }
  return show(options, folder, *study);
}

}  // namespace

void add_plan(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = program.add_subcommand("plan", kPlanSummary);
  command->add_option("PLAN", options->file, "plan file (TOML)");
  command->add_option("--set", options->set, "override a value of the file; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--out", options->out, "folder for results [results/<name>-plan]")
      ->type_name("DIR");
  command->add_option("--explain", options->explain, "say why candidate A beats B")
      ->type_name("A,B")
      ->delimiter(',')
      ->expected(2);
  command->add_option("--jobs", options->jobs, "runs at once [one per core]")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  command->add_flag("--resume", options->resume, "use the runs that are in DIR");
  command->add_flag("--json", options->json, "print plan.json instead of the table");
  command->add_flag("--quiet", options->quiet, "print no progress");
  command->add_flag("--anyway", options->anyway, "run even if memory may not suffice");
  command->add_flag("--keys", options->keys, "list every key of a plan and exit");
  command->add_flag("--prices", options->prices, "list the prices, those of the plan if given");
  command->add_flag("--market", options->market, "draw a forecast of the market and exit");
  command->footer(kPlanFooter);
  command->callback([options, &exit_code] { exit_code = make_plan(*options); });
}

}  // namespace nerve::cli
