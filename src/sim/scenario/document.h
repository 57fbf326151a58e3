// A scenario file as a tree of plain values, each with its position. No other file uses the TOML
// parser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenario/scenario_error.h"

namespace nerve::sim::scenario_file {

enum class NodeType : std::uint8_t { kTable, kList, kText, kInteger, kNumber, kSwitch, kOther };

struct Node {
  NodeType type{NodeType::kTable};
  std::string key;         // in a table
  std::uint32_t line{};    // from 1; zero: not in the file
  std::uint32_t column{};  // from 1
  bool overridden{};       // set on the command line
  std::string text;        // kText
  std::int64_t integer{};
  double number{};
  bool on{};
  std::vector<Node> children;  // of a table, in the order of the file; or of a list

  [[nodiscard]] const Node* find(std::string_view name) const {
    for (const Node& child : children) {
      if (child.key == name) return &child;
    }
    return nullptr;
  }
};

// For messages: 12, "abc", true, a table.
[[nodiscard]] std::string shown(const Node& node);

// Longer files are rejected.
inline constexpr std::size_t kLongestScenario = std::size_t{256} << 10U;

[[nodiscard]] Result<Node, ScenarioError> parse_document(std::string_view text,
                                                         const std::string& file);

// Parses a value in the syntax of the file, without a position. What does not parse is a text.
[[nodiscard]] Node parse_value(const std::string& text);

}  // namespace nerve::sim::scenario_file
