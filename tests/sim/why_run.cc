#include "tests/sim/why_run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/run.h"
#include "sim/scenario/scenario_file.h"
#include "sim/why/variants.h"

namespace nerve::sim::test {

std::string joined(std::string_view first, std::string_view rest) {
  std::string text{first};
  text += rest;
  return text;
}

RunResult run_why(const std::string& text, const std::vector<Override>& overrides) {
  const auto scenario = read_scenario(text, "why.toml", overrides);
  if (!scenario) {
    ADD_FAILURE() << text_of(scenario.error()[0]);
    return {};
  }
  auto result = run(*scenario);
  EXPECT_TRUE(result) << result.error();
  return result ? *std::move(result) : RunResult{};
}

std::string first_cause(const RunResult& result, std::size_t job) {
  if (job >= result.why.size()) return "no job";
  return result.why[job].causes.empty() ? "none" : result.why[job].causes[0].kind;
}

const CauseResult* find_cause(const RunResult& result, std::string_view kind) {
  for (const CauseResult& one : result.why[0].causes) {
    if (one.kind == kind) return &one;
  }
  return nullptr;
}

bool says(const RunResult& result, std::string_view words, std::size_t job) {
  return result.why[job].paragraph.find(words) != std::string::npos;
}

double best_trial(const std::string& text, const RunResult& result, const std::string& cause) {
  constexpr std::size_t job = 0;
  const auto scenario = read_scenario(text, "why.toml", {});
  const auto document = scenario_file::parse_document(text, "why.toml");
  double best = -1;
  for (const Variant& variant : variants_for(*document, *scenario, result, job)) {
    if (variant.cause != cause) continue;
    const RunResult changed = run_why(text, variant.set);
    if (changed.why.empty()) continue;
    const Trial trial = trial_of(variant, result, changed, job);
    EXPECT_EQ(trial.set.size(), variant.set.size());
    best = std::max(best, trial.takes_away);
  }
  return best;
}

}  // namespace nerve::sim::test
