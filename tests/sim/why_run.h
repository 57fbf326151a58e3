// Runs scenarios for the tests of diagnoses, and reads these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/results/run_result.h"
#include "sim/scenario/override.h"

namespace nerve::sim::test {

// The beginning of a scenario: 16 servers below four leaves and four spines.
inline constexpr const char* kFourLeaves = R"([servers]
count = 16
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
nics_per_leaf = 4
spines = 4
)";

// The beginning and the rest of a scenario.
[[nodiscard]] std::string joined(std::string_view first, std::string_view rest);

// Fails the test if the scenario is invalid or cannot be built.
[[nodiscard]] RunResult run_why(const std::string& text,
                                const std::vector<Override>& overrides = {});

// The kind of the most important cause; none if no cause is named.
[[nodiscard]] std::string first_cause(const RunResult& result, std::size_t job = 0);
[[nodiscard]] const CauseResult* find_cause(const RunResult& result, std::string_view kind);
// Whether the paragraph of a job contains these words.
[[nodiscard]] bool says(const RunResult& result, std::string_view words, std::size_t job = 0);

// The best of the changes that are proposed for a cause: how much of the excess it takes away.
[[nodiscard]] double best_trial(const std::string& text, const RunResult& result,
                                const std::string& cause);

}  // namespace nerve::sim::test
