// `nerve sim --sizes`: runs a scenario of collectives once for each size of their buffers, and
// prints a table as nccl-tests does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/results/run_result.h"
#include "sim/scenario/scenario.h"

namespace nerve::cli {

// "1K:1G" or "1K:1G:4": from the first to the last, each the former times 2 or the given factor. K,
// M and G are powers of 1024, as in nccl-tests.
[[nodiscard]] Result<std::vector<std::uint64_t>, std::string> parse_sizes(std::string_view text);

struct SizesOptions {
  std::vector<std::uint64_t> sizes;
  std::string folder;
  bool json{};
  bool quiet{};
};

// Runs a scenario; nothing, after an error message, if that fails.
using RunScenario = std::function<std::optional<sim::RunResult>(const sim::Scenario&)>;

// Returns the exit code. Writes FOLDER/sizes.json.
[[nodiscard]] int simulate_sizes(sim::Scenario scenario, const SizesOptions& options,
                                 const RunScenario& run);

}  // namespace nerve::cli
