// `nerve learn`: searches a policy for congestion = "learned", or judges one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/learn_judge.h"
#include "cli/learn_page.h"
#include "cli/learn_plan.h"
#include "cli/learn_runs.h"
#include "cli/learn_search.h"
#include "cli/learn_team.h"
#include "cli/run_folder.h"
#include "cli/scenario_input.h"
#include "cli/sim_sums.h"
#include "cli/status_line.h"
#include "nic/flow_control/policy_file.h"

namespace nerve::cli {
namespace {

constexpr const char* kLearnFooter = R"(
Trains on the classes of a file: first a rule, then a network that begins as that rule. Writes
DIR/policy.toml, the best policy so far, DIR/report.html with the curves, and DIR/state.json, from
which --resume continues. The result depends on the file and its seed only, not on the number of
cores. docs/learned.md describes the file and the search.

With mpirun, every rank does its share of the runs, one at a time or --jobs of them. The ranks read the
same files, and rank 0 writes. A search ends when a rank dies; --resume continues it.

--judge runs each case of the file with the policy, DCQCN, TIMELY, Swift and HPCC, and prints how
they compare. The row (fair) has flows that share links at fair rates at once, without queues.

Exit code: 0  done
           1  the file, a scenario or the policy is invalid, or results could not be written
           2  invalid command line
         130  Ctrl-C; what was found so far is written

Examples:
    nerve learn examples/learn/training.toml
    mpirun -n 16 nerve learn examples/learn/training.toml
    nerve learn examples/learn/held-out.toml --judge
    nerve learn examples/learn/held-out.toml --judge --policy results/learn-default/policy.toml)";

// A candidate that nic::objection_to() refuses is not run. It is worse than all others.
constexpr std::int64_t kRefused = 100 * kLogOne;
// A run may take so many times the time of its best baseline.
constexpr std::int64_t kPatience = 6;

struct LearnOptions {
  std::string file;
  std::string policy;
  std::string out;
  std::size_t jobs{};
  double minutes{};
  bool judge{};
  bool resume{};
  bool quiet{};
};

// How to end a search that cannot go on: the exit code.
struct Stop {
  int exit_code{};
};
Stop fail(const LearnTeam& team, StatusLine& line, const std::string& why) {
  line.clear();
  if (team.leads()) fmt::print(stderr, "nerve learn: {}\n", why);
  return {kExitFailed};
}

Result<std::vector<LearnOutcome>, Stop> run_them(const std::vector<LearnRun>& runs,
                                                 const LearnOptions& options, LearnTeam& team,
                                                 StatusLine& line, const std::string& what) {
  auto outcomes = team.run(runs, options.jobs, [&](std::size_t done, std::size_t all) {
    line.show([&] {
      return fmt::format("{} {}, {} of {} runs, {}",
                         bar_text(static_cast<double>(done) / static_cast<double>(all)), what, done,
                         all, wait_text(line.elapsed()));
    });
  });
  if (!outcomes && outcomes.error() == LearnEnd::kInterrupted) {
    return Unexpected{Stop{kExitInterrupted}};
  }
  if (!outcomes) {
    return Unexpected{fail(team, line, "a rank has died; --resume continues from the last state")};
  }
  for (const LearnOutcome& outcome : *outcomes) {
    if (!outcome.trouble.empty()) return Unexpected{fail(team, line, outcome.trouble)};
  }
  return *std::move(outcomes);
}

std::optional<nic::PolicyFile> read_policy_file(const std::string& file) {
  const auto text = read_text("learn", file);
  if (!text) return std::nullopt;
  auto policy = nic::read_policy(*text);
  if (policy) return *std::move(policy);
  fmt::print(stderr, "{}\n", nic::text_of(policy.error(), file));
  return std::nullopt;
}

int judge_policy(const LearnOptions& options, const LearnPlan& plan, LearnTeam& team) {
  std::shared_ptr<const nic::Policy> policy;
  if (!options.policy.empty()) {
    const auto file = read_policy_file(options.policy);
    if (!file) return kExitFailed;
    policy = std::make_shared<const nic::Policy>(file->policy);
  }
  std::vector<LearnRun> runs;
  for (const LearnCase& one : plan.cases) {
    for (const LearnRival& rival : learn_rivals()) {
      runs.push_back({&one.scenario, rival.algorithm, policy, {}, false});
    }
    runs.push_back({&one.scenario, nic::CcAlgorithm::kSwift, {}, {}, true});
  }
  StatusLine line{options.quiet || !team.leads()};
  const auto outcomes = run_them(runs, options, team, line, "judging");
  line.clear();
  if (!outcomes) return outcomes.error().exit_code;
  if (!team.leads()) return kExitOk;
  const LearnJudgement judgement = judge(plan, *outcomes);
  fmt::print("{}\n{}", judgement_table(plan, judgement), aims_text(plan, judgement));
  return kExitOk;
}

// What the policy is compared with: for each case the cost of the better baseline, and the time
// that a run may take.
struct Baseline {
  std::int64_t cost{};
  Duration until{};
};

Result<std::vector<Baseline>, Stop> baselines_of(const LearnOptions& options, const LearnPlan& plan,
                                                 LearnTeam& team, StatusLine& line) {
  constexpr nic::CcAlgorithm kBaselines[] = {nic::CcAlgorithm::kSwift, nic::CcAlgorithm::kDcqcn};
  std::vector<LearnRun> runs;
  for (const LearnCase& one : plan.cases) {
    for (const nic::CcAlgorithm algorithm : kBaselines) {
      runs.push_back({&one.scenario, algorithm, {}, {}, false});
    }
  }
  const auto outcomes = run_them(runs, options, team, line, "baselines");
  if (!outcomes) return Unexpected{outcomes.error()};
  std::vector<Baseline> baselines;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const LearnOutcome* best = nullptr;
    for (std::size_t k = 0; k < std::size(kBaselines); ++k) {
      const LearnOutcome& one = (*outcomes)[i * std::size(kBaselines) + k];
      if (!one.figures.done) continue;
      if (best == nullptr || cost_of(one.figures) < cost_of(best->figures)) best = &one;
    }
    if (best == nullptr) {
      return Unexpected{
          fail(team, line,
               fmt::format("neither Swift nor DCQCN completes this case of {}: {}",
                           plan.classes[plan.cases[i].in_class], plan.cases[i].name))};
    }
    baselines.push_back({cost_of(best->figures), kPatience * best->figures.simulated});
  }
  return baselines;
}

class Trainer {
 public:
  Trainer(const LearnOptions& options, const LearnPlan& plan, LearnTeam& team)
      : options_{options},
        plan_{plan},
        team_{team},
        searcher_{plan.search, plan.seed},
        line_{options.quiet || !team.leads()} {}

  int train() {
    folder_ = options_.out.empty() ? folder_for("learn-" + plan_.name) : options_.out;
    const bool resumed = resume();
    const bool has_folder = !team_.leads() || make_folder("learn", folder_);
    if (team_.any(!resumed || !has_folder)) return kExitFailed;
    watch_for_interrupt();
    auto baselines = baselines_of(options_, plan_, team_, line_);
    if (!baselines) return baselines.error().exit_code;
    baselines_ = *std::move(baselines);
    while (!searcher_.done() && !team_.any(late())) {
      if (const int code = next_generation(); code != kExitOk) {
        return code == kExitInterrupted ? finish(code) : code;
      }
    }
    return finish(kExitOk);
  }

 private:
  [[nodiscard]] bool late() const {
    return options_.minutes > 0 && line_.elapsed().count() > options_.minutes * 60;
  }

  [[nodiscard]] std::string state_file() const { return folder_ + "/state.json"; }

  bool resume() {
    if (!options_.resume) return true;
    const auto text = read_text("learn", state_file());
    std::string why = team_.difference({{"state to resume", text ? sum_of(*text) : "none"}});
    if (!text) return false;
    if (why.empty()) {
      why = searcher_.restore(*text);
      if (why.empty()) return true;
      why += "; start again without --resume";
    }
    (void)fail(team_, line_, fmt::format("{}: {}", state_file(), why));
    return false;
  }

  // The exit code.
  int next_generation() {
    const std::vector<nic::Policy> candidates = searcher_.propose();
    std::vector<LearnRun> runs;
    std::vector<bool> refused;
    for (const nic::Policy& candidate : candidates) {
      refused.push_back(nic::objection_to(candidate) != nullptr);
      if (refused.back()) continue;
      const auto policy = std::make_shared<const nic::Policy>(candidate);
      for (std::size_t i = 0; i < plan_.cases.size(); ++i) {
        runs.push_back({&plan_.cases[i].scenario, nic::CcAlgorithm::kLearned, policy,
                        baselines_[i].until, false});
      }
    }
    const auto outcomes = run_them(runs, options_, team_, line_, progress());
    if (!outcomes) return outcomes.error().exit_code;
    std::vector<std::int64_t> scores;
    std::vector<std::int64_t> classes;
    std::size_t next = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (refused[i]) {
        scores.push_back(kRefused);
        continue;
      }
      std::vector<std::int64_t> costs;
      for (const Baseline& baseline : baselines_) {
        const LearnFigures& figures = (*outcomes)[next++].figures;
        costs.push_back(figures.done ? cost_of(figures) - baseline.cost : kNotDone);
      }
      LearnScore score = score_of(plan_, costs);
      scores.push_back(score.all);
      if (i == 0) classes = std::move(score.classes);
    }
    searcher_.learn(scores, std::move(classes));
    return team_.any(team_.leads() && !write()) ? kExitFailed : kExitOk;
  }

  [[nodiscard]] std::string progress() const {
    const std::size_t number = searcher_.history().size();
    std::string text = fmt::format("generation {} of {}", number + 1, searcher_.generations());
    if (number > 0) text += fmt::format(", best {:+.1f} %", percent(searcher_.best_score()));
    return text;
  }

  static double percent(std::int64_t score) {
    return 100 * (std::exp2(static_cast<double>(score) / static_cast<double>(kLogOne)) - 1);
  }

  bool write() {
    nic::PolicyFile file{
        .name = plan_.name,
        .trained_on = fmt::format("{} (seed {}, {} of {} generations)",
                                  std::filesystem::path{options_.file}.filename().string(),
                                  plan_.seed, searcher_.history().size(), searcher_.generations()),
        .policy = searcher_.best()};
    return write_file("learn", folder_ + "/policy.toml", nic::text_of(file)) &&
           write_file("learn", state_file(), searcher_.save()) &&
           write_file("learn", folder_ + "/report.html", learn_page(plan_, searcher_.history()));
  }

  int finish(int exit_code) {
    line_.clear();
    if (searcher_.history().empty() || !team_.leads()) return exit_code;
    const LearnGeneration& last = searcher_.history().back();
    fmt::print(
        "{} of {} generations; the best policy scores {:+.2f} % (below zero is better than "
        "DCQCN and Swift)\n",
        searcher_.history().size(), searcher_.generations(), percent(searcher_.best_score()));
    for (std::size_t i = 0; i < std::min(last.classes.size(), plan_.classes.size()); ++i) {
      fmt::print("  {:<20}{:+.2f} %\n", plan_.classes[i], percent(last.classes[i]));
    }
    if (!options_.quiet) {
      fmt::print(stderr, "nerve learn: policy in {0}/policy.toml, curves in {0}/report.html\n",
                 folder_);
    }
    return exit_code;
  }

  const LearnOptions& options_;
  const LearnPlan& plan_;
  LearnTeam& team_;
  LearnSearcher searcher_;
  StatusLine line_;
  std::string folder_;
  std::vector<Baseline> baselines_;
};

// Rank zero reads first, so that what is wrong with a file is printed once.
std::optional<LearnPlan> read_plan(const LearnOptions& options, LearnTeam& team) {
  std::optional<LearnPlan> plan;
  if (team.leads()) plan = read_learn_plan(options.file);
  if (team.any(team.leads() && !plan)) return std::nullopt;
  if (!team.leads()) plan = read_learn_plan(options.file);
  if (team.any(!plan)) return std::nullopt;
  const std::string why =
      team.difference({{"nerve-sim", sum_of_program()},
                       {"training file, or a scenario of it", fmt::format("{:016x}", plan->hash)}});
  if (why.empty()) return plan;
  if (team.leads()) fmt::print(stderr, "nerve learn: {}\n", why);
  return std::nullopt;
}

int learn(const LearnOptions& options) {
  auto team = LearnTeam::gather();
  if (!team) {
    fmt::print(stderr, "nerve learn: {}\n", team.error());
    return kExitFailed;
  }
  if (!options.judge && !options.policy.empty()) {
    if (team->leads()) {
      fmt::print(stderr, "nerve learn: --policy names the policy to judge; add --judge\n");
    }
    return kExitUsage;
  }
  const auto plan = read_plan(options, *team);
  if (!plan) return kExitFailed;
  if (!options.judge) return Trainer{options, *plan, *team}.train();
  watch_for_interrupt();
  return judge_policy(options, *plan, *team);
}

}  // namespace

void add_learn(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<LearnOptions>();
  CLI::App* command = program.add_subcommand("learn", kLearnSummary);
  command->add_option("FILE", options->file, "a TOML file with classes of scenarios")->required();
  command->add_flag("--judge", options->judge, "compare a policy with other algorithms");
  command->add_option("--policy", options->policy, "the policy to judge [the shipped one]")
      ->type_name("FILE");
  command->add_option("--out", options->out, "folder for results [results/learn-<name>]")
      ->type_name("DIR");
  command->add_option("--jobs", options->jobs, "runs at once [one per core]")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  command->add_option("--minutes", options->minutes, "stop after the generation that exceeds this")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_flag("--resume", options->resume, "continue from DIR/state.json");
  command->add_flag("--quiet", options->quiet, "print no progress");
  command->footer(kLearnFooter);
  command->callback([options, &exit_code] { exit_code = learn(*options); });
}

}  // namespace nerve::cli
