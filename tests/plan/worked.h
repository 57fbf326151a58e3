// A plan from its text, worked out in this process.
#pragma once

#include <string>

#include "sim/plan/conclusion.h"
#include "sim/plan/study.h"
#include "sim/plan/work.h"

namespace nerve::sim::plan {

// The runs of a batch, one after the other; `backwards`: from the last to the first, as parallel
// runs may end.
struct Runner {
  bool backwards{};
  std::size_t runs{};

  bool operator()(const std::string& what, const std::vector<PlannedRun>& planned,
                  std::vector<RunOutcome>& outcomes);
};

// A study of this text; a failed expectation and an empty study if it has errors.
[[nodiscard]] Study study_of(const std::string& text);

struct Worked {
  Study study;
  Conclusion conclusion;
  [[nodiscard]] const Option& best() const { return study.options.at(conclusion.best - 1); }
};
[[nodiscard]] Worked worked_out(const std::string& text, Runner runner = {});

}  // namespace nerve::sim::plan
