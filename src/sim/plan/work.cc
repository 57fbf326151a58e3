#include "sim/plan/work.h"

#include <fmt/format.h>

#include <span>

#include "sim/plan/candidate.h"
#include "sim/plan/estimate.h"
#include "sim/plan/shrink.h"

namespace nerve::sim::plan {
namespace {

// A finalist and where its runs are among all of them.
struct Finalist {
  std::size_t option{};
  Shrunk shrunk;
  std::size_t first_run{};
};

// FNV-1a: names of files, not secrets.
std::uint64_t digest(std::string_view text, std::uint64_t start) {
  std::uint64_t hash = start;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

// Without what flows cannot tell apart, so that candidates share an estimate.
std::string estimate_key(const Study& study, const Option& option, const std::string& how) {
  std::vector<Override> same;
  for (const Override& one : option.overrides) {
    const bool lossy = option.candidate.network == NetworkKind::kLossyRoce;
    if (lossy && (one.key == "fabric.pfc" || one.key == "nic.recovery")) continue;
    same.push_back(one);
  }
  return run_key(scenario_text(study.spec, same), how);
}

std::vector<PlannedRun> runs_of(const Study& study, std::vector<Finalist>& finalists) {
  std::vector<PlannedRun> runs;
  for (Finalist& finalist : finalists) {
    const Option& option = study.options[finalist.option];
    const std::string text = scenario_text(study.spec, option.overrides);
    finalist.first_run = runs.size();
    const std::string& how = finalist.shrunk.how;
    if (!how.empty()) {
      Scenario flow = finalist.shrunk.scenario;
      flow.fidelity = Fidelity::kFlow;
      runs.push_back({std::move(flow), run_key(text, "flow with " + how)});
    }
    for (std::uint32_t seed = 1; seed <= study.spec.seeds; ++seed) {
      Scenario packets = finalist.shrunk.scenario;
      packets.seed = seed;
      runs.push_back(
          {std::move(packets), run_key(text, fmt::format("packets, seed {} {}", seed, how))});
    }
  }
  return runs;
}

void take_estimate(const EstimateRuns& estimate, std::span<const RunOutcome> outcomes,
                   Option& option) {
  std::vector<Figures> figures;
  for (const RunOutcome& outcome : outcomes) {
    if (!outcome.figures) return note_failure(option, outcome.error);
    figures.push_back(*outcome.figures);
  }
  note_estimate(option, extrapolated(estimate, figures));
}

void take(Study& study, const Finalist& finalist, const std::vector<RunOutcome>& outcomes) {
  Option& option = study.options[finalist.option];
  const bool scaled = !finalist.shrunk.how.empty();
  std::size_t at = finalist.first_run;
  const RunOutcome* flow = scaled ? &outcomes[at++] : nullptr;
  std::vector<Figures> seeds;
  std::string error = flow != nullptr ? flow->error : "";
  for (std::uint32_t i = 0; i < study.spec.seeds; ++i, ++at) {
    if (outcomes[at].figures) {
      seeds.push_back(*outcomes[at].figures);
    } else if (error.empty()) {
      error = outcomes[at].error;
    }
  }
  if (!error.empty()) {
    note_failure(option, error);
  } else if (!scaled) {
    note_packets(option, std::move(seeds));
  } else if (flow->figures->done && flow->figures->seconds > 0) {
    note_scaled(option, *flow->figures, std::move(seeds), finalist.shrunk.how);
  } else {
    note_failure(option, flow->figures->trouble);
  }
}

}  // namespace

std::string run_key(std::string_view scenario_text, std::string_view how) {
  const std::string all = std::string{scenario_text} + "\n" + std::string{how};
  return fmt::format("{:016x}{:016x}", digest(all, 0xcbf29ce484222325U),
                     digest(all, 0x9e3779b97f4a7c15U));
}

bool estimate_all(Study& study, const RunAll& run_all) {
  while (true) {
    const std::vector<std::size_t> wave = next_wave(study);
    if (wave.empty()) return true;
    std::vector<EstimateRuns> estimates;
    std::vector<PlannedRun> planned;
    for (const std::size_t i : wave) {
      const Option& option = study.options[i];
      estimates.push_back(estimate_runs(study, option));
      for (EstimateRun& one : estimates.back().runs) {
        planned.push_back({std::move(one.scenario), estimate_key(study, option, one.how)});
      }
    }
    std::vector<RunOutcome> outcomes;
    if (!run_all("estimates", planned, outcomes)) return false;
    std::size_t at = 0;
    for (std::size_t i = 0; i < wave.size(); ++i) {
      const std::span own = std::span{outcomes}.subspan(at, estimates[i].runs.size());
      at += own.size();
      take_estimate(estimates[i], own, study.options[wave[i]]);
    }
  }
}

bool simulate_finalists(Study& study, const RunAll& run_all) {
  std::vector<Finalist> finalists;
  for (const std::size_t i : choose_finalists(study)) {
    auto shrunk = shrink(study, study.options[i]);
    if (shrunk) {
      finalists.push_back({i, *std::move(shrunk), 0});
    } else {
      study.options[i].remark =
          "stays with flows: even a small part of it has more packets than [plan] packets allows";
    }
  }
  const std::vector<PlannedRun> planned = runs_of(study, finalists);
  std::vector<RunOutcome> outcomes;
  if (!run_all("packets", planned, outcomes)) return false;
  for (const Finalist& finalist : finalists) take(study, finalist, outcomes);
  return true;
}

}  // namespace nerve::sim::plan
