#include "sim/plan/plan_file.h"

#include <algorithm>
#include <filesystem>

#include "sim/plan/plan_keys.h"

namespace nerve::sim::plan {
namespace {

using namespace scenario_file;

// Keys of scenarios that a candidate sets, and where a plan has them instead.
struct Moved {
  std::string_view table;
  std::string_view key;
  std::string_view instead;
};
constexpr Moved kMoved[] = {
    {"servers", "count", "gpus in [plan]"},
    {"servers", "gpus", "gpus_per_server in [vary]"},
    {"servers", "nics", "nics_per_server in [vary]"},
    {"fabric", "topology", "topology in [vary]"},
    {"fabric", "link", "network in [vary]"},
    {"fabric", "pfc", "network in [vary]"},
    {"fabric", "nic_rate", "nic_rate in [vary]"},
    {"fabric", "oversubscription", "oversubscription in [vary]"},
    {"fabric", "nics_per_leaf", "switch_ports in [vary]"},
    {"fabric", "spines", "switch_ports in [vary]"},
    {"fabric", "trunk_rate", "nic_rate in [vary]; cables between switches have it too"},
    {"fabric", "trunks", "topology in [vary]"},
    {"fabric", "ports_per_switch", "switch_ports in [vary]"},
    {"fabric", "routers_per_group", "switch_ports in [vary]"},
    {"fabric", "nics_per_router", "switch_ports in [vary]"},
    {"fabric", "cables_out_of_router", "switch_ports in [vary]"},
    {"fabric", "file", "topology in [vary]"},
    {"nic", "transport", "network in [vary]"},
    {"nic", "recovery", "network in [vary]"},
};
// Tables that a candidate has no use for, and keys of the top level.
constexpr std::string_view kNotPlanned[] = {"front_end", "storage", "fidelity", "seed"};

const Node* table_named(const TableAt& document, std::string_view name) {
  const Node* node = document.node.find(name);
  return node != nullptr && node->type == NodeType::kTable ? node : nullptr;
}

void refuse_moved(const TableAt& document) {
  for (const Moved& moved : kMoved) {
    const Node* table = table_named(document, moved.table);
    if (table == nullptr) continue;
    const TableAt at{*table, std::string{moved.table}, document.errors};
    if (!at.has(moved.key)) continue;
    at.wrong(moved.key, "is what a plan chooses; write " + std::string{moved.instead});
  }
  for (const std::string_view name : kNotPlanned) {
    if (document.has(name)) document.wrong(name, "a plan has no such key; leave it out");
  }
}

// What `nerve sim` needs of the file: everything but the tables of the plan.
Node scenario_part(const Node& document) {
  Node rest = document;
  std::erase_if(rest.children, [](const Node& child) {
    return child.key == "plan" || child.key == "vary" || child.key == "limits" ||
           child.key == "name" || child.key == "description";
  });
  return rest;
}

void check_plan(const TableAt& document, const PlanSpec& spec) {
  const Node* plan = table_named(document, "plan");
  const TableAt table{plan != nullptr ? *plan : document.node, "plan", document.errors};
  if (spec.gpus == 0 && spec.budget == 0) {
    table.wrong("", "gpus is missing: the number of GPUs; or write budget = 20e6");
  } else if (spec.gpus != 0 && spec.budget != 0) {
    table.wrong("budget", "is for plans without gpus; leave one of them out");
  }
  if (!document.has("job")) {
    document.wrong("job", "there is no job; write [[job]] with kind = \"training\"");
  }
  if (spec.choose_parallelism && spec.batch == 0) {
    table.wrong("parallelism", "\"choose\" needs the sequences of a step; write batch = 1024");
  }
  const Node* limits = table_named(document, "limits");
  if (spec.limits.days > 0 && spec.tokens == 0) {
    TableAt{*limits, "limits", document.errors}.wrong(
        "days", "is the time for all tokens; write tokens = 1e12 in [plan]");
  }
  if (spec.goal == Goal::kCost && spec.limits.days == 0 && spec.limits.time == Duration{}) {
    table.wrong("goal",
                "\"cost\" without a limit of time buys whatever is cheapest; write days or "
                "time in [limits]");
  }
}

void read_document(const TableAt& document, PlanSpec& spec) {
  read_keys(document, top_plan_keys(), spec);
  if (spec.name.empty()) spec.name = std::filesystem::path{spec.file}.stem().string();
  if (spec.name.empty()) spec.name = "plan";
  read_table(document, "plan", own_plan_keys(), spec);
  read_table(document, "vary", vary_keys(), spec.vary);
  read_table(document, "limits", limit_keys(), spec.limits);
  std::vector<std::string_view> names{
      "plan", "vary", "limits", "job",    "servers", "fabric",
      "nic",  "tcp",  "fault",  "output", "until",
  };
  add_names(top_plan_keys(), names);
  names.insert(names.end(), std::begin(kNotPlanned), std::end(kNotPlanned));
  refuse_others(document, names);
  refuse_moved(document);
  if (!document.errors.none()) return;
  check_plan(document, spec);
  spec.scenario = scenario_part(document.node);
}

template <class Spec>
void describe_keys(const std::string& table, KeysOf<Spec> keys, std::vector<ScenarioKey>& all) {
  for (const Key<Spec>& key : keys) {
    KeyWords words;
    Value asked{words};
    Spec defaults{};
    key.read(asked, defaults);
    all.push_back({table, std::string{key.name}, words.takes,
                   key.fallback.empty() ? words.fallback : std::string{key.fallback},
                   std::string{key.meaning}});
  }
}

}  // namespace

Result<PlanSpec, std::vector<ScenarioError>> read_plan(std::string_view toml_text,
                                                       const std::string& file_name,
                                                       std::span<const Override> overrides) {
  Result<Node, ScenarioError> parsed = parse_document(toml_text, file_name);
  if (!parsed) return Unexpected{std::vector{parsed.error()}};
  Errors errors{file_name};
  Node nowhere;
  nowhere.overridden = true;
  for (const Override& one : overrides) {
    std::string why = apply(*parsed, one);
    if (!why.empty()) errors.add(nowhere, one.key, std::move(why));
  }
  PlanSpec spec;
  spec.file = file_name;
  if (errors.none()) read_document({*parsed, "", errors}, spec);
  if (errors.none()) return spec;
  std::vector<ScenarioError> all = errors.take();
  std::ranges::stable_sort(all, {}, &ScenarioError::line);
  return Unexpected{std::move(all)};
}

std::vector<ScenarioKey> plan_keys() {
  std::vector<ScenarioKey> all;
  describe_keys("", top_plan_keys(), all);
  describe_keys("[plan]", own_plan_keys(), all);
  describe_keys("[vary]", vary_keys(), all);
  describe_keys("[limits]", limit_keys(), all);
  return all;
}

}  // namespace nerve::sim::plan
