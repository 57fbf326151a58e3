#include "sim/scenario/key.h"

#include <algorithm>

namespace nerve::sim::scenario_file {
namespace {

// Names of keys in other simulators, with ours.
struct Guess {
  std::string_view word;
  std::string_view meant;
};
constexpr Guess kGuesses[] = {
    {"bytes", "size"},
    {"message_size", "size"},
    {"bandwidth", "rate"},
    {"link_rate", "nic_rate"},
    {"speed", "nic_rate"},
    {"latency", "delay"},
    {"type", "kind"},
    {"gpus_per_server", "gpus"},
    {"nics_per_server", "nics"},
    {"cc", "congestion"},
    {"k", "ports_per_switch"},
    {"dp", "data"},
    {"tp", "tensor"},
    {"pp", "pipeline"},
    {"ep", "expert"},
    {"radix", "ports_per_switch"},
    {"congestion_control", "congestion"},
    {"load_balancing", "routing"},
    {"lossless", "pfc"},
    {"seq", "sequence"},
    {"hidden_size", "hidden"},
};

std::string_view guessed(std::string_view word, std::span<const std::string_view> names) {
  for (const Guess& guess : kGuesses) {
    if (guess.word == word && std::ranges::find(names, guess.meant) != names.end()) {
      return guess.meant;
    }
  }
  return {};
}

}  // namespace

bool is_for(std::string_view only_for, std::string_view kind) {
  if (only_for.empty()) return true;
  while (!only_for.empty()) {
    const std::size_t comma = only_for.find(", ");
    if (only_for.substr(0, comma) == kind) return true;
    only_for.remove_prefix(comma == std::string_view::npos ? only_for.size() : comma + 2);
  }
  return false;
}

void refuse_others(const TableAt& table, std::span<const std::string_view> names) {
  for (const Node& child : table.node.children) {
    if (std::ranges::find(names, child.key) != names.end()) continue;
    const std::string_view meant = guessed(child.key, names);
    constexpr std::size_t kLongest = 60;
    table.errors.add(child, table.path_of(child.key.substr(0, kLongest)),
                     meant.empty() ? not_known(child.key, names)
                                   : "is not known; the key is called " + std::string{meant});
  }
}

const Node* find_table(const TableAt& in, std::string_view name) {
  const Node* node = in.node.find(name);
  if (node == nullptr || node->type == NodeType::kTable) return node;
  in.wrong(name, shown(*node) + " is not a table; write [" + in.path_of(name) + "]");
  return nullptr;
}

std::vector<const Node*> find_tables(const TableAt& in, std::string_view name) {
  const Node* node = in.node.find(name);
  if (node == nullptr) return {};
  if (node->type == NodeType::kTable) return {node};
  std::vector<const Node*> tables;
  constexpr std::size_t kMost = 10'000;
  bool good = node->type == NodeType::kList && node->children.size() <= kMost;
  if (good) {
    for (const Node& child : node->children) {
      good = good && child.type == NodeType::kTable;
      tables.push_back(&child);
    }
  }
  if (good) return tables;
  in.wrong(name, shown(*node) + " is not a list of tables; write [[" + std::string{name} + "]]");
  return {};
}

}  // namespace nerve::sim::scenario_file
