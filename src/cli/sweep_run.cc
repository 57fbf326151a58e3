#include "cli/sweep_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "cli/memory_room.h"
#include "cli/run_folder.h"
#include "cli/status_line.h"
#include "host/diagnostics/amounts.h"
#include "sim/results/result_json.h"
#include "sim/run.h"

namespace nerve::cli {

std::size_t how_many_at_once(const std::string& command, std::span<const sim::Scenario> scenarios,
                             const AtOnce& options) {
  std::size_t jobs = options.wanted;
  if (jobs == 0) jobs = std::max(std::thread::hardware_concurrency(), 1U);
  std::uint64_t most = 1;
  for (const sim::Scenario& scenario : scenarios) {
    most = std::max(most, sim::memory_needed(scenario));
  }
  const auto available = available_memory();
  if (options.anyway || !available) return jobs;
  const std::string room = no_room(most, available);
  if (!room.empty()) {
    fmt::print(stderr, "nerve {}: the largest run: {}\n", command, room);
    return 0;
  }
  const std::size_t fits = *available / most;
  if (fits < jobs && !options.quiet) {
    fmt::print(stderr,
               "nerve {}: {} runs at once, because each may need {} of memory and {} are free\n",
               command, fits, host::bytes_text(most), host::bytes_text(*available));
  }
  return std::min(jobs, fits);
}

std::optional<sim::RunResult> run_in_child(const sim::Scenario& scenario, RunStatus& status) {
  sim::RunOptions options;
  options.progress = [&status](const sim::RunState& state) {
    __atomic_store_n(&status.now_ps, state.now.picoseconds(), __ATOMIC_RELAXED);
    __atomic_store_n(&status.events, state.events, __ATOMIC_RELAXED);
  };
  auto result = sim::run(scenario, options);
  if (result) return std::move(*result);
  status.fail(result.error());
  return std::nullopt;
}

bool run_to_file(const std::string& command, const sim::Scenario& scenario, const std::string& path,
                 RunStatus& status) {
  const auto result = run_in_child(scenario, status);
  if (!result) return false;
  const std::string folder = std::filesystem::path{path}.parent_path().string();
  if (make_folder(command, folder) && write_file(command, path, sim::to_json(*result))) return true;
  status.fail("its result could not be written");
  return false;
}

std::string progress_text(const PoolState& state, std::chrono::duration<double> elapsed) {
  const double share = static_cast<double>(state.done) / static_cast<double>(state.all);
  const double rate = static_cast<double>(state.events) / std::max(elapsed.count(), 1e-3);
  std::string text = fmt::format(
      "{} {} of {} runs, {} at once, {} events/s, {}", bar_text(share), state.done, state.all,
      state.running, host::count_text(static_cast<std::uint64_t>(rate)), wait_text(elapsed));
  if (state.done > 0) {
    const auto left =
        elapsed * static_cast<double>(state.all - state.done) / static_cast<double>(state.done);
    text += fmt::format(", about {} to go", wait_text(left));
  }
  return text;
}

}  // namespace nerve::cli
