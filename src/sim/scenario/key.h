// The keys of one table of a scenario file. The array of keys defines the table: the reader goes by
// it, rejects any other key, and the reference in docs/scenarios.md is generated from it.
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
  std::string_view fallback{};  // the default in words, where the Spec's value is not enough
  std::string_view only_for{};  // kinds of job or network that have the key; empty: all
};

inline constexpr std::string_view kRequired = "required";

// A table in the file with its path: job.0.model.
struct TableAt {
  const Node& node;
  std::string path;
  Errors& errors;

  [[nodiscard]] std::string path_of(std::string_view name) const {
    return path.empty() ? std::string{name} : path + "." + std::string{name};
  }
  [[nodiscard]] bool has(std::string_view name) const { return node.find(name) != nullptr; }
  void wrong(std::string_view key, std::string message) const {
    const Node* at = node.find(key);
    errors.add(at != nullptr ? *at : node, key.empty() ? path : path_of(key), std::move(message));
  }
};

// Whether a list of kinds, as in "shift, incast", contains this one; an empty list contains all.
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

// Reads the keys that the table has, and reports those that are missing but required.
template <class Spec>
void read_keys(const TableAt& table, std::span<const Key<Spec>> keys, Spec& spec) {
  for (const Key<Spec>& key : keys) {
    if (const Node* node = table.node.find(key.name)) {
      Value value{*node, table.path_of(key.name), table.errors};
      key.read(value, spec);
    } else if (key.fallback == kRequired) {
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

// Reports every key that is not one of the names.
void refuse_others(const TableAt& table, std::span<const std::string_view> names);

// The table of this name in another. Null if there is none; an error if it is not a table.
[[nodiscard]] const Node* find_table(const TableAt& in, std::string_view name);
// The tables of [[name]]; a single table counts as a list of one.
[[nodiscard]] std::vector<const Node*> find_tables(const TableAt& in, std::string_view name);

// Reads a table that contains only keys.
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
