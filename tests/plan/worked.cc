#include "tests/plan/worked.h"

#include <gtest/gtest.h>

#include "sim/plan/plan_file.h"
#include "sim/run.h"

namespace nerve::sim::plan {

bool Runner::operator()(const std::string& what, const std::vector<PlannedRun>& planned,
                        std::vector<RunOutcome>& outcomes) {
  EXPECT_FALSE(what.empty());
  outcomes.assign(planned.size(), {});
  for (std::size_t n = 0; n < planned.size(); ++n) {
    const std::size_t i = backwards ? planned.size() - 1 - n : n;
    ++runs;
    const auto result = sim::run(planned[i].scenario);
    if (result) {
      outcomes[i].figures = figures_of(*result);
    } else {
      outcomes[i].error = result.error();
    }
  }
  return true;
}

Study study_of(const std::string& text) {
  auto spec = read_plan(text, "x.toml");
  if (!spec) {
    ADD_FAILURE() << sim::text_of(spec.error().front());
    return {};
  }
  auto study = make_study(*std::move(spec), default_prices());
  if (study) return *std::move(study);
  ADD_FAILURE() << sim::text_of(study.error().front());
  return {};
}

Worked worked_out(const std::string& text, Runner runner) {
  Worked worked{study_of(text), {}};
  const RunAll run_all = [&runner](const std::string& what, const auto& planned, auto& outcomes) {
    return runner(what, planned, outcomes);
  };
  EXPECT_TRUE(estimate_all(worked.study, run_all));
  EXPECT_TRUE(simulate_finalists(worked.study, run_all));
  worked.conclusion = conclude(worked.study);
  return worked;
}

}  // namespace nerve::sim::plan
