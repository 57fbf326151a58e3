// An error in a scenario file: where, which key, and how to fix it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nerve::sim {

struct ScenarioError {
  std::string file;
  std::uint32_t line{};  // zero: on the command line, or in no line
  std::uint32_t column{};
  std::string key;  // dotted: job.0.size; empty: the file as a whole
  std::string message;

  friend bool operator==(const ScenarioError&, const ScenarioError&) = default;
};

// examples/x.toml:12: fabric.routing: "emcp" is not known; ...
[[nodiscard]] inline std::string text_of(const ScenarioError& error) {
  std::string text = error.file;
  if (error.line != 0) text += ":" + std::to_string(error.line);
  if (!error.key.empty()) text += ": " + error.key;
  return text + ": " + error.message;
}

}  // namespace nerve::sim
