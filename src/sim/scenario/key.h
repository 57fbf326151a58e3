// The keys of one table of a scenario file. An array of them is all there is to know of the table:
// reading goes by it, what is not in it is refused, the reference is written from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/value.h"

namespace nerve::sim::scenario_file {

template <class Spec>
struct Key {
  std::string_view name;
  std::string_view meaning;
  void (*read)(Value& value, Spec& spec);
  std::string_view fallback{};  // in words, where the Spec's own value would not tell
  std::string_view only_for{};  // kinds of job or shapes of network, where it is not for all
};

inline constexpr std::string_view kNeeded = "needed";

// A table in the file, and its name from the top: job.0.model.
struct TableAt {
  const Node& node;
  std::string path;
  Errors& errors;

  [[nodiscard]] std::string path_of(std::string_view name) const {
    return path.empty() ? std::string{name} : path + "." + std::string{name};
  }
  [[nodiscard]] bool says(std::string_view name) const { return node.find(name) != nullptr; }
  void wrong(std::string_view key, std::string message) const {
    const Node* at = node.find(key);
    errors.add(at != nullptr ? *at : node, key.empty() ? path : path_of(key), std::move(message));
  }
};

// Whether a list of kinds, "shift, incast", has this one; an empty one has all.
[[nodiscard]] bool is_for(std::string_view only_for, std::string_view kind);

template <class Spec>
[[nodiscard]] std::vector<Key<Spec>> keys_for(std::span<const Key<Spec>> keys,
                                              std::string_view kind) {
  std::vector<Key<Spec>> some;
  for (const Key<Spec>& key : keys) {
    if (is_for(key.only_for, kind)) some.push_back(key);
  }
  return some;
}

// The values of those keys that the table has; those that it must have are asked for.
template <class Spec>
void read_keys(const TableAt& table, std::span<const Key<Spec>> keys, Spec& spec) {
  for (const Key<Spec>& key : keys) {
    if (const Node* node = table.node.find(key.name)) {
      Value value{*node, table.path_of(key.name), table.errors};
      key.read(value, spec);
    } else if (key.fallback == kNeeded) {
      KeyWords words;
      Value value{words};
      Spec none{};
      key.read(value, none);
      table.wrong("", std::string{key.name} + " is missing: " + std::string{key.meaning} + "; " +
                          words.takes);
    }
  }
}

template <class Spec>
void add_names(std::span<const Key<Spec>> keys, std::vector<std::string_view>& names) {
  for (const Key<Spec>& key : keys) names.push_back(key.name);
}

// Tells of every key that is none of the names.
void refuse_others(const TableAt& table, std::span<const std::string_view> names);

// The table of this name within another; none, and told, when it is something else.
[[nodiscard]] const Node* find_table(const TableAt& in, std::string_view name);
// The tables of [[name]]; one table is a list of one.
[[nodiscard]] std::vector<const Node*> find_tables(const TableAt& in, std::string_view name);

// A table that has nothing but keys.
template <class Spec>
void read_table(const TableAt& in, std::string_view name, std::span<const Key<Spec>> keys,
                Spec& spec) {
  const Node* node = find_table(in, name);
  if (node == nullptr) return;
  const TableAt table{*node, in.path_of(name), in.errors};
  std::vector<std::string_view> names;
  add_names(keys, names);
  refuse_others(table, names);
  read_keys(table, keys, spec);
}

}  // namespace nerve::sim::scenario_file
