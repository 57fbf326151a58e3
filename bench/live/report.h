// What was measured, and what it means: the best of several runs, how far the others were from it,
// ratios, aims met and missed. As a table (Markdown, for docs/performance.md) and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/live/plan.h"

namespace nerve::bench {

// Of one figure: a value for each run that went well, and why the last one that did not failed.
struct Samples {
  std::vector<double> values;
  std::string failure;
};

// The samples of Plan::figures, in their order.
struct Results {
  const Plan& plan;
  std::vector<Samples> samples;

  [[nodiscard]] bool complete() const;  // no run of any figure failed
};

// The least disturbed run: other programs make figures worse, never better.
[[nodiscard]] std::optional<double> best(const Samples& samples, Unit unit);

// How far the worst run is from the best, as a share of the best.
[[nodiscard]] double spread(const Samples& samples, Unit unit);

// Of a line: ours to theirs where there is something beside it, else our figure.
[[nodiscard]] std::optional<double> value_of(const Results& results, const Line& line);

[[nodiscard]] std::string table(const Results& results);
[[nodiscard]] std::string failures(const Results& results);  // a line each

// Where and how it was measured.
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
