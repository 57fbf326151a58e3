#include "cli/learn_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "cli/scenario_input.h"
#include "sim/scenario/document.h"
#include "sim/scenario/value.h"

namespace nerve::cli {
namespace {

using sim::scenario_file::Errors;
using sim::scenario_file::Node;
using sim::scenario_file::NodeType;
using sim::scenario_file::Value;

constexpr std::string_view kTopKeys[] = {"name", "seed", "search", "class"};
constexpr std::string_view kSearchKeys[] = {"rule_generations", "rule_population", "generations",
                                            "pairs", "spread"};
constexpr std::string_view kClassKeys[] = {"name", "scenario", "cases"};

void refuse_others(const Node& table, std::span<const std::string_view> known,
                   const std::string& path, Errors& errors) {
  for (const Node& child : table.children) {
    if (std::ranges::find(known, child.key) != known.end()) continue;
    errors.add(child, path + child.key, sim::scenario_file::not_known(child.key, known));
  }
}

// Calls `read` with the value of a key, if the table has it.
void with(const Node& table, std::string_view key, const std::string& path, Errors& errors,
          const auto& read) {
  const Node* const node = table.find(key);
  if (node == nullptr) return;
  Value value{*node, path + std::string{key}, errors};
  read(value);
}

void read_search(const Node& table, Errors& errors, LearnSearch& search) {
  const std::string path = "search.";
  refuse_others(table, kSearchKeys, path, errors);
  const auto count = [&](std::string_view key, std::uint32_t& where, std::uint64_t least,
                         std::uint64_t most) {
    with(table, key, path, errors, [&](Value& v) { v.count(where, least, most); });
  };
  count("rule_generations", search.rule_generations, 0, 1000);
  count("rule_population", search.rule_population, 8, 1000);
  count("generations", search.generations, 0, 10'000);
  count("pairs", search.pairs, 2, 1000);
  count("spread", search.spread, 1, 1000);
}

class PlanReader {
 public:
  PlanReader(std::string file, Errors& errors, LearnPlan& plan)
      : file_{std::move(file)}, errors_{errors}, plan_{plan} {}

  // False after an error message about a scenario; others are in `errors`.
  bool read(const Node& root) {
    refuse_others(root, kTopKeys, "", errors_);
    plan_.name = std::filesystem::path{file_}.stem().string();
    with(root, "name", "", errors_, [this](Value& v) { v.text(plan_.name); });
    with(root, "seed", "", errors_, [this](Value& v) { v.count(plan_.seed, 0, 1ULL << 62U); });
    if (const Node* const search = root.find("search")) read_search(*search, errors_, plan_.search);
    const Node* const classes = root.find("class");
    if (classes == nullptr || classes->type != NodeType::kList) {
      errors_.add(root, "class", "is missing; write [[class]] with name, scenario and cases");
      return true;
    }
    for (const Node& one : classes->children) {
      if (!read_class(one)) return false;
    }
    return true;
  }

 private:
  bool read_class(const Node& table) {
    const std::string path = fmt::format("class.{}.", plan_.classes.size());
    refuse_others(table, kClassKeys, path, errors_);
    std::string name;
    std::string scenario;
    with(table, "name", path, errors_, [&](Value& v) { v.text(name); });
    with(table, "scenario", path, errors_, [&](Value& v) { v.file(scenario); });
    const Node* const cases = table.find("cases");
    if (name.empty()) errors_.add(table, path + "name", "is missing");
    if (scenario.empty()) errors_.add(table, path + "scenario", "is missing; name a file");
    if (cases == nullptr || cases->type != NodeType::kList) {
      errors_.add(table, path + "cases", R"(is missing; write a list, as in [["seed=1"]])");
    }
    if (!errors_.none()) return true;
    const auto text = read_text("learn", scenario);
    if (!text) return false;
    mix(*text);
    plan_.classes.push_back(name);
    for (const Node& one : cases->children) {
      if (!read_case(one, *text, scenario, path + "cases")) return false;
    }
    return true;
  }

  bool read_case(const Node& list, const std::string& text, const std::string& scenario,
                 const std::string& key) {
    std::vector<sim::Override> overrides;
    std::string name;
    for (const Node& word : list.children) {
      auto one = sim::parse_override(word.text);
      if (!one) {
        errors_.add(word, key, one.error());
        return true;
      }
      (name += name.empty() ? "" : ", ") += word.text;
      overrides.push_back(*std::move(one));
    }
    if (list.type != NodeType::kList) {
      errors_.add(list, key, R"(expected a list of KEY=VALUE, as in ["servers.count=9"])");
      return true;
    }
    auto made = make_scenario(text, scenario, overrides);
    if (!made) {
      fmt::print(stderr, "nerve learn: this error is for {}:{}, {}\n", file_, list.line, name);
      return false;
    }
    plan_.cases.push_back({plan_.classes.size() - 1, name, *std::move(made)});
    return true;
  }

  void mix(std::string_view text) {
    for (const char c : text) {
      plan_.hash = (plan_.hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }

  std::string file_;
  Errors& errors_;
  LearnPlan& plan_;

 public:
  void begin(std::string_view text) {
    plan_.hash = 0xcbf29ce484222325;
    mix(text);
  }
};

}  // namespace

std::optional<LearnPlan> read_learn_plan(const std::string& file) {
  const auto text = read_text("learn", file);
  if (!text) return std::nullopt;
  const auto root = sim::scenario_file::parse_document(*text, file);
  if (!root) {
    fmt::print(stderr, "{}\n", sim::text_of(root.error()));
    return std::nullopt;
  }
  LearnPlan plan;
  Errors errors{file};
  PlanReader reader{file, errors, plan};
  reader.begin(*text);
  if (!reader.read(*root)) return std::nullopt;
  if (errors.none() && plan.cases.empty()) errors.add(*root, "class", "has no cases");
  if (errors.none()) return plan;
  for (const sim::ScenarioError& error : errors.take()) {
    fmt::print(stderr, "{}\n", sim::text_of(error));
  }
  return std::nullopt;
}

}  // namespace nerve::cli
