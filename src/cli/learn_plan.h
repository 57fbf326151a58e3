// What `nerve learn` trains or judges on: a file of classes, each with a scenario and its variants.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace nerve::cli {

struct LearnCase {
  std::size_t in_class{};  // index
  std::string name;        // what it changes: servers.count=9, fabric.nic_rate=25 Gb/s
  sim::Scenario scenario;
};

struct LearnSearch {
  std::uint32_t rule_generations{8};
  std::uint32_t rule_population{20};
  std::uint32_t generations{40};
  std::uint32_t pairs{12};   // of mirrored candidates per generation
  std::uint32_t spread{60};  // of a candidate's weights, in thousandths
};

struct LearnPlan {
  std::string name;
  std::uint64_t seed{1};
  LearnSearch search{};
  std::vector<std::string> classes;
  std::vector<LearnCase> cases;
  std::uint64_t hash{};  // of the file and the scenarios that it names
};

// Nothing, after error messages, if the file or one of its scenarios is invalid.
[[nodiscard]] std::optional<LearnPlan> read_learn_plan(const std::string& file);

}  // namespace nerve::cli
