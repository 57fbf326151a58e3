#include "cli/scenario_input.h"

#include <fmt/format.h>

#include "cli/file_bytes.h"
#include "sim/scenario/scenario_file.h"

namespace nerve::cli {

std::optional<std::string> read_text(const std::string& command, const std::string& file) {
  const FileBytes input = read_bytes(file);
  if (!input.error.empty()) {
    fmt::print(stderr, "nerve {}: {}: {}\n", command, file, input.error);
    return std::nullopt;
  }
  return std::string{reinterpret_cast<const char*>(input.bytes.data()), input.bytes.size()};
}

std::optional<sim::Scenario> make_scenario(const std::string& text, const std::string& file,
                                           std::span<const sim::Override> overrides) {
  auto scenario = sim::read_scenario(text, file, overrides);
  if (scenario) return *std::move(scenario);
  for (const sim::ScenarioError& error : scenario.error()) {
    fmt::print(stderr, "{}\n", sim::text_of(error));
  }
  return std::nullopt;
}

std::optional<std::vector<sim::Override>> parse_overrides(const std::string& command,
                                                          const std::vector<std::string>& words) {
  std::vector<sim::Override> overrides;
  for (const std::string& word : words) {
    auto one = sim::parse_override(word);
    if (!one) {
      fmt::print(stderr, "nerve {}: --set {}\n", command, one.error());
      return std::nullopt;
    }
    overrides.push_back(*std::move(one));
  }
  return overrides;
}

}  // namespace nerve::cli
