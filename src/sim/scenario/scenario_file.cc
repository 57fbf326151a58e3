#include "sim/scenario/scenario_file.h"

#include <algorithm>

#include "sim/scenario/tables.h"

namespace nerve::sim {
namespace {

using namespace scenario_file;

void read(const Node& root, Errors& errors, Scenario& scenario) {
  const TableAt document{root, "", errors};
  read_tables(document, scenario);
  read_jobs(document, scenario);
  if (!errors.none()) return;  // checks on rejected values would report them twice
  settle(document, scenario);
  check_cluster(document, scenario);
  check_jobs(document, scenario);
}

}  // namespace

Result<Scenario, std::vector<ScenarioError>> read_scenario(std::string_view toml_text,
                                                           const std::string& file_name,
                                                           std::span<const Override> overrides) {
  Result<Node, ScenarioError> parsed = parse_document(toml_text, file_name);
  if (!parsed) return Unexpected{std::vector{parsed.error()}};
  return read_scenario(*std::move(parsed), file_name, overrides);
}

Result<Scenario, std::vector<ScenarioError>> read_scenario(Node document,
                                                           const std::string& file_name,
                                                           std::span<const Override> overrides) {
  Errors errors{file_name};
  Node nowhere;
  nowhere.overridden = true;
  for (const Override& one : overrides) {
    std::string why = apply(document, one);
    if (!why.empty()) errors.add(nowhere, one.key, std::move(why));
  }
  Scenario scenario;
  if (errors.none()) read(document, errors, scenario);
  if (errors.none()) return scenario;
  std::vector<ScenarioError> all = errors.take();
  std::ranges::stable_sort(all, {}, &ScenarioError::line);
  return Unexpected{std::move(all)};
}

}  // namespace nerve::sim
