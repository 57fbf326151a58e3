// Every key of a scenario file, in words: what docs/scenarios.md and `nerve sim --keys` list.
#pragma once

#include <string>
#include <vector>

namespace nerve::sim {

struct ScenarioKey {
  std::string table;  // as it is written: [fabric.buffer]; empty at the top
  std::string name;
  std::string takes;
  std::string fallback;  // when nobody says
  std::string meaning;   // with the kinds that it is for
};

// In the order in which people read them.
[[nodiscard]] std::vector<ScenarioKey> scenario_keys();

// The row of a table in Markdown.
[[nodiscard]] std::string markdown_row(const ScenarioKey& key);

}  // namespace nerve::sim
