#include "cli/sim_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/status_line.h"
#include "host/diagnostics/amounts.h"

namespace nerve::cli {

std::string simulated_text(std::uint64_t picoseconds) {
  struct Unit {
    double worth;
    const char* name;
  };
  const auto time = static_cast<double>(picoseconds);
  for (const Unit unit : {Unit{1e12, "s"}, Unit{1e9, "ms"}, Unit{1e6, "us"}, Unit{1e3, "ns"}}) {
    if (time >= unit.worth) return fmt::format("{:.4g} {}", time / unit.worth, unit.name);
  }
  return fmt::format("{} ps", picoseconds);
}

std::string state_text(const sim::RunState& state) {
  std::string simulated = simulated_text(state.now.picoseconds()) + " simulated";
  if (state.jobs == 1) return simulated;
  return fmt::format("{}, {} of {} jobs done", simulated, state.jobs_done, state.jobs);
}

std::string progress_text(const sim::RunState& state, std::chrono::duration<double> elapsed) {
  const double seconds = std::max(elapsed.count(), 1e-3);
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(state.events) / seconds);
  std::string text;
  if (state.share > 0) {
    const double share = std::min(state.share, 0.99);  // 100 % only when it has finished
    text = fmt::format("{} {:2.0f} %, {} to go; ", bar_text(share), 100 * share,
                       wait_text(elapsed * (1 - share) / share));
  }
  return text + fmt::format("{}, {} events/s, {}", state_text(state), host::count_text(rate),
                            wait_text(elapsed));
}

bool all_done(const sim::RunResult& result) {
  return std::ranges::all_of(result.jobs, [](const sim::JobResult& job) { return job.done; });
}

}  // namespace nerve::cli
