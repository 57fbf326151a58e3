// All keys of a scenario file with their descriptions, as listed by docs/scenarios.md and `nerve
// sim --keys`.
#pragma once

#include <string>
#include <vector>

namespace nerve::sim {

struct ScenarioKey {
  std::string table;  // as in the file: [fabric.buffer]; empty at the top level
  std::string name;
  std::string takes;
  std::string fallback;  // the default
  std::string meaning;   // with the kinds it applies to
};

// In the order of the reference.
[[nodiscard]] std::vector<ScenarioKey> scenario_keys();

// A row of a Markdown table.
[[nodiscard]] std::string markdown_row(const ScenarioKey& key);

}  // namespace nerve::sim
