// The measured figures and what follows from them: the best of several runs, the spread, ratios,
// aims met and missed. As a table (Markdown, for docs/performance.md) and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/live/plan.h"

namespace nerve::bench {

// The samples of one figure: a value for each successful run, and the reason of the last failure.
struct Samples {
  std::vector<double> values;
  std::string failure;
};

// The samples of Plan::figures, in the same order.
struct Results {
  const Plan& plan;
  std::vector<Samples> samples;

  [[nodiscard]] bool complete() const;  // no run of any figure failed
};

// The run with the least interference: other programs make figures worse, never better.
[[nodiscard]] std::optional<double> best(const Samples& samples, Unit unit);

// The distance of the worst run from the best, as a share of the best.
[[nodiscard]] double spread(const Samples& samples, Unit unit);

// The ratio of a line with a baseline, otherwise our figure.
[[nodiscard]] std::optional<double> value_of(const Results& results, const Line& line);

[[nodiscard]] std::string table(const Results& results);
[[nodiscard]] std::string failures(const Results& results);  // one per line

// Where and how the figures were measured.
struct Circumstances {
  std::string date;
  std::string commit;
  std::string cpu;
  long cpus{};
  std::string architecture;
  std::string kernel;
  std::string pinned;  // "0 and 1"
  bool realtime{};
  bool quick{};
  int repeat{};
};
[[nodiscard]] std::string text_of(const Circumstances& circumstances);  // two lines
[[nodiscard]] std::string json(const Results& results, const Circumstances& circumstances);

}  // namespace nerve::bench
