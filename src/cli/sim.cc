// `nerve sim`: runs a scenario and shows the results.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/memory_room.h"
#include "cli/mpi_ranks.h"
#include "cli/report_page.h"
#include "cli/run_folder.h"
#include "cli/scenario_input.h"
#include "cli/sim_both.h"
#include "cli/sim_compare.h"
#include "cli/sim_explain.h"
#include "cli/sim_sizes.h"
#include "cli/sim_state.h"
#include "cli/sim_together.h"
#include "cli/sim_trace.h"
#include "cli/status_line.h"
#include "sim/division.h"
#include "sim/results/result_json.h"
#include "sim/results/summary.h"
#include "sim/run.h"
#include "sim/scenario/reference.h"

namespace nerve::cli {
namespace {

constexpr const char* kSimFooter = R"(
A scenario is a TOML file: servers, a network, jobs. docs/scenarios.md explains it, --keys lists every
key, examples/scenarios/ contains examples.

Prints a summary and writes DIR/result.json (docs/results.md) and DIR/report.html, one page to look at
in a browser. The same scenario and seed give the same results, on every machine.

--set overrides or adds a value, written as in the file; a string needs no
quotes, and jobs and faults are counted from 0: --set fabric.routing=spray --set 'job.0.size=64 MB'.

--trace-gpus FROM,TO also writes DIR/trace.json and DIR/trace.html: every step of the messages between
two GPUs of different servers (docs/trace.md). It changes no result.

--sizes 1K:1G runs a scenario of collectives once for each size of their buffers, doubling it (1K:1G:4:
times 4), and prints a table as nccl-tests does, with the bus bandwidth of the bound beside it. K, M and
G are powers of 1024. It writes DIR/sizes.json instead of the other files.

--both runs the scenario with packets and with messages as flows (fidelity = "flow"), prints the error
of each figure of the latter, and writes DIR/packet/result.json and DIR/flow/result.json
(docs/fluid.md).

--explain also runs what the paragraph "why" suggests, each in a process of its own, and prints how much
of the time above the bound each change takes away (docs/why.md). It writes DIR/trials/<number>/result.json.

With mpirun, the ranks run one scenario together, each with --cores threads. The result is the same.

Progress goes to stderr. Ctrl-C ends the run, prints how far it got, and writes nothing; during the
runs of --explain, it writes what is complete.

Exit code: 0  every job was completed
           1  a job was not completed, the scenario is invalid, or results could not be written
           2  invalid command line
         130  Ctrl-C

Examples:
    nerve sim examples/scenarios/first.toml
    nerve sim first.toml --seed 7 --set servers.count=16 --out results/sixteen
    nerve sim examples/scenarios/ring.toml --sizes 1M:256M:4
    nerve sim ring.toml --both
    nerve sim examples/scenarios/oversubscribed.toml --explain
    mpirun -n 4 nerve sim large.toml --cores 8
    nerve sim ring.toml --json --quiet | jq .jobs[0].bus_bandwidth
    nerve sim compare results/rdma/result.json results/tcp/result.json)";

struct SimOptions {
  std::string scenario;
  std::optional<std::int64_t> seed;
  std::string out;
  std::vector<std::string> set;
  bool json{};
  bool quiet{};
  std::vector<std::uint32_t> traced;  // two GPUs, or none
  std::uint64_t messages{1000};
  std::uint32_t cores{};  // zero: all
  std::optional<std::string> sizes;
  bool anyway{};
  bool both{};
  bool explain{};
  bool keys{};
};

void print_keys() {
  std::string table = "?";
  for (const sim::ScenarioKey& key : sim::scenario_keys()) {
    if (key.table != table) fmt::print("\n{}\n", key.table.empty() ? "at the top" : key.table);
    table = key.table;
    fmt::print("  {:<22}{}\n{:24}takes {}; default: {}\n", key.name, key.meaning, "", key.takes,
               key.fallback.empty() ? "none" : key.fallback);
  }
}

[[noreturn]] void end_early(StatusLine& line, const sim::RunState& state,
                            const std::string& folder) {
  line.clear();
  std::error_code ignored;
  std::filesystem::remove(folder, ignored);  // created for this run; fails if it is not empty
  fmt::print(stderr, "nerve sim: interrupted at {}; nothing was written\n", state_text(state));
  (void)std::fflush(stdout);
  std::_Exit(kExitInterrupted);
}

std::optional<sim::RunResult> run(const sim::Scenario& scenario, const std::string& folder,
                                  const SimOptions& chosen, sim::RunTrace* trace) {
  StatusLine line{chosen.quiet};
  watch_for_interrupt();
  sim::RunOptions options;
  options.trace = trace;
  options.cores = chosen.cores > 0 ? chosen.cores : std::thread::hardware_concurrency();
  options.progress = [&line, &folder](const sim::RunState& state) {
    if (interrupted()) end_early(line, state, folder);
    line.show([&] { return progress_text(state, line.elapsed()); });
  };
  auto result = sim::run(scenario, options);
  line.clear();
  if (result) return *std::move(result);
  fmt::print(stderr, "nerve sim: {}: {}\n", scenario.name, result.error());
  return std::nullopt;
}

int show(const SimOptions& options, const std::string& folder, const sim::RunResult& result) {
  const std::string json = sim::to_json(result);
  const std::string page = report_page(std::span{&json, 1});
  const bool written = write_file("sim", folder + "/result.json", json) &&
                       write_file("sim", folder + "/report.html", page);
  if (options.json) {
    fmt::print("{}\n", json);
  } else {
    fmt::print("{}", sim::summary(result));
  }
  if (!written) return kExitFailed;  // the results were printed all the same
  if (!options.quiet) {
    fmt::print(stderr, "nerve sim: results in {0}/result.json, a page in {0}/report.html\n",
               folder);
  }
  return all_done(result) ? kExitOk : kExitFailed;
}

// The ranks that mpirun has started, together. Nothing if there is only this process.
std::optional<int> simulate_by_mpi(const SimOptions& options) {
  if (!started_by_mpi()) return std::nullopt;
  if (deaths_go_unnoticed()) {
    fmt::print(stderr,
               "nerve sim: with mpirun --enable-recovery the others would wait for ever for a rank "
               "that died; leave it out\n");
    return kExitUsage;
  }
  auto ranks = MpiRanks::find();
  if (!ranks) {
    fmt::print(stderr, "nerve sim: {}\n", ranks.error());
    return kExitFailed;
  }
  if (!*ranks) return std::nullopt;
  const bool first = (*ranks)->rank() == 0;
  if (options.both || options.explain || options.sizes || !options.traced.empty()) {
    if (first) {
      fmt::print(stderr,
                 "nerve sim: --both, --explain, --sizes and --trace-gpus run without mpirun\n");
    }
    return kExitUsage;
  }
  auto overrides = parse_overrides("sim", options.set);
  if (!overrides) return kExitUsage;
  if (options.seed) overrides->push_back({"seed", std::to_string(*options.seed)});
  StatusLine line{options.quiet || !first};
  sim::RunOptions own;
  own.note = [&](const std::string& why) {
    line.clear();
    fmt::print(stderr, "nerve sim: {}: {}\n", options.scenario, why);
  };
  own.progress = [&line](const sim::RunState& state) {
    line.show([&] { return progress_text(state, line.elapsed()); });
  };
  return simulate_together(**ranks,
                           {.scenario = options.scenario,
                            .overrides = *std::move(overrides),
                            .out = options.out,
                            .cores = std::max(options.cores, 1U),
                            .anyway = options.anyway,
                            .options = std::move(own),
                            .show = [&](const std::string& folder, const sim::RunResult& result) {
                              line.clear();
                              return show(options, folder, result);
                            }});
}

int simulate(const SimOptions& options) {
  if (options.keys) {
    print_keys();
    return kExitOk;
  }
  if (options.scenario.empty()) {
    fmt::print(stderr,
               "nerve sim: no scenario given; try: nerve sim "
               "examples/scenarios/first.toml\n");
    return kExitUsage;
  }
  if (const auto code = simulate_by_mpi(options)) return *code;
  std::vector<std::uint64_t> sizes;
  if (options.sizes) {
    auto parsed = parse_sizes(*options.sizes);
    if (!parsed) {
      fmt::print(stderr, "nerve sim: --sizes {}\n", parsed.error());
      return kExitUsage;
    }
    sizes = *std::move(parsed);
  }
  auto overrides = parse_overrides("sim", options.set);
  if (!overrides) return kExitUsage;
  if (options.seed) overrides->push_back({"seed", std::to_string(*options.seed)});
  const auto text = read_text("sim", options.scenario);
  if (!text) return kExitFailed;
  const auto scenario = make_scenario(*text, options.scenario, *overrides);
  if (!scenario) return kExitFailed;
  sim::Scenario largest = *scenario;
  if (options.both) largest.fidelity = sim::Fidelity::kPacket;
  const std::string room = no_room(sim::memory_needed(largest), available_memory());
  if (!room.empty() && !options.anyway) {
    fmt::print(stderr, "nerve sim: {}: {}\n", options.scenario, room);
    return kExitFailed;
  }
  const std::string folder = options.out.empty() ? folder_for(scenario->name) : options.out;
  if (!sizes.empty()) {
    return simulate_sizes(
        *scenario, {std::move(sizes), folder, options.json, options.quiet},
        [&](const sim::Scenario& one) { return run(one, folder, options, nullptr); });
  }
  // Before the run, so that its work is not lost.
  if (!make_folder("sim", folder)) return kExitFailed;
  if (options.both) {
    return simulate_both(*scenario, folder, options.quiet, [&](const sim::Scenario& one) {
      return run(one, folder, options, nullptr);
    });
  }
  std::optional<sim::RunTrace> trace;
  if (!options.traced.empty()) {
    trace.emplace(sim::RunTrace{
        .from = options.traced[0], .to = options.traced[1], .messages = options.messages});
  }
  auto result = run(*scenario, folder, options, trace ? &*trace : nullptr);
  if (!result) return kExitFailed;
  const bool to_the_end =
      !options.explain || add_trials(*scenario,
                                     {*text, options.scenario, *overrides, folder, options.cores,
                                      options.anyway, options.quiet},
                                     *result);
  const int shown = show(options, folder, *result);
  const int code = to_the_end ? shown : kExitInterrupted;
  if (!trace) return code;
  return write_sim_trace(*scenario, *trace, folder, options.quiet) ? code : kExitFailed;
}

}  // namespace

void add_sim(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<SimOptions>();
  CLI::App* command = program.add_subcommand("sim", kSimSummary);
  command->add_option("SCENARIO", options->scenario, "scenario file (TOML); - is standard input");
  command->add_option("--seed", options->seed, "random seed, overrides the file")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--out", options->out, "folder for results [results/<name>]")
      ->type_name("DIR");
  command->add_option("--set", options->set, "override a value of the file; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "print result.json instead of the summary");
  command->add_flag("--quiet", options->quiet, "print no progress");
  command->add_option("--trace-gpus", options->traced, "trace the messages between two GPUs")
      ->type_name("FROM,TO")
      ->delimiter(',')
      ->expected(2);
  command->add_option("--trace-messages", options->messages, "messages of each QP to trace [1000]")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  command
      ->add_option("--cores", options->cores,
                   "threads to use; the result is the same [all; 1 with mpirun]")
      ->type_name("N")
      ->check(CLI::Range(1U, sim::kMostParts));
  command->add_option("--sizes", options->sizes, "run collectives with buffers of several sizes")
      ->type_name("FIRST:LAST[:FACTOR]")
      ->excludes("--trace-gpus");
  command->add_flag("--anyway", options->anyway, "run even if memory may not suffice");
  command->add_flag("--both", options->both, "run with packets and as flows, and print the errors")
      ->excludes("--trace-gpus")
      ->excludes("--json");
  command
      ->add_flag("--explain", options->explain, "also run what would prove the paragraph \"why\"")
      ->excludes("--sizes")
      ->excludes("--both");
  command->add_flag("--keys", options->keys, "list every scenario key and exit");
  command->footer(kSimFooter);
  add_sim_compare(*command, exit_code);
  command->callback([command, options, &exit_code] {
    if (command->get_subcommands().empty()) exit_code = simulate(*options);
  });
}

}  // namespace nerve::cli
