// The results of a sweep: a table, and sweep.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/sweep_plan.h"
#include "sim/results/run_result.h"

namespace nerve::cli {

// The figures of one run.
struct Figures {
  std::uint64_t completion_ps{};  // of the last job to end
  double bus_bandwidth{};         // bytes/s, of the first job that has one
  double slowdown_p99{};          // of all flows; zero: there were none
  double exposed{};               // share of the ranks' time that waited for messages
  sim::Totals totals{};
  double wall_seconds{};
  bool all_done{};
};
[[nodiscard]] Figures figures_of(const sim::RunResult& result);

struct SweepRow {
  Cell cell;
  std::string result;  // its file, relative to the sweep's folder
  std::optional<Figures> figures;
  std::string error;  // if there are no figures; empty: it was not run
};

[[nodiscard]] std::string sweep_table(const std::vector<Axis>& axes,
                                      const std::vector<SweepRow>& rows);
[[nodiscard]] std::string sweep_json(const std::string& scenario, const std::vector<Axis>& axes,
                                     const std::vector<SweepRow>& rows);

}  // namespace nerve::cli
