#include "sim/scenario/document.h"

#include <algorithm>

#include "base/toml.h"
#include "sim/scenario/units.h"

namespace nerve::sim::scenario_file {
namespace {

// Each dot of a dotted key nests one table in another, and they are destroyed recursively. The
// limit, far above real use, keeps the stack from overflowing.
constexpr std::ptrdiff_t kMostDots = 4096;

bool too_many_dots(std::string_view text) { return std::ranges::count(text, '.') > kMostDots; }

Node node_of(const toml::node& from);

void place(Node& node, const toml::node& from) {
  node.line = from.source().begin.line;
  node.column = from.source().begin.column;
}

void add_children(Node& node, const toml::table& table) {
  node.type = NodeType::kTable;
  for (const auto& [key, child] : table) {
    node.children.push_back(node_of(child));
    node.children.back().key = std::string{key.str()};
    if (!child.is_table() || child.as_table()->is_inline()) {  // [a] has a position of its own
      node.children.back().line = key.source().begin.line;
      node.children.back().column = key.source().begin.column;
    }
  }
  std::ranges::stable_sort(node.children, [](const Node& a, const Node& b) {
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  });
}

Node node_of(const toml::node& from) {
  Node node;
  place(node, from);
  if (const auto* table = from.as_table()) {
    add_children(node, *table);
  } else if (const auto* list = from.as_array()) {
    node.type = NodeType::kList;
    for (const toml::node& child : *list) node.children.push_back(node_of(child));
  } else if (const auto* text = from.as_string()) {
    node.type = NodeType::kText;
    node.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    node.type = NodeType::kInteger;
    node.integer = integer->get();
  } else if (const auto* number = from.as_floating_point()) {
    node.type = NodeType::kNumber;
    node.number = number->get();
  } else if (const auto* on = from.as_boolean()) {
    node.type = NodeType::kSwitch;
    node.on = on->get();
  } else {
    node.type = NodeType::kOther;  // dates, which no key accepts
  }
  return node;
}

// Marks a value as set on the command line, without a position.
void forget_places(Node& node) {
  node.line = 0;
  node.column = 0;
  node.overridden = true;
  for (Node& child : node.children) forget_places(child);
}

}  // namespace

std::string shown(const Node& node) {
  switch (node.type) {
    case NodeType::kTable:
      return "a table";
    case NodeType::kList:
      return "a list";
    case NodeType::kText: {
      constexpr std::size_t kMost = 60;
      std::string text = node.text.substr(0, kMost) + (node.text.size() > kMost ? "..." : "");
      std::ranges::replace_if(
          text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, '?');
      return '"' + text + '"';
    }
    case NodeType::kInteger:
      return std::to_string(node.integer);
    case NodeType::kNumber:
      return number_text(node.number);
    case NodeType::kSwitch:
      return node.on ? "true" : "false";
    case NodeType::kOther:
      break;
  }
  return "a date or a time of day";
}

Result<Node, ScenarioError> parse_document(std::string_view text, const std::string& file) {
  const auto wrong = [&file](std::uint32_t line, std::uint32_t column, std::string message) {
    return Unexpected{ScenarioError{file, line, column, "", std::move(message)}};
  };
  if (text.size() > kLongestScenario) {
    return wrong(0, 0, "is longer than " + bytes_text(kLongestScenario) + "; is it a scenario?");
  }
  if (too_many_dots(text)) {
    return wrong(0, 0, "has more than " + std::to_string(kMostDots) + " dots; is it a scenario?");
  }
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const toml::source_position at = error.source().begin;
    return wrong(at.line, at.column, "not TOML: " + std::string{error.description()});
  }
  Node document = node_of(parsed.table());
  document.line = 0;  // missing tables have no position
  document.column = 0;
  return document;
}

Node parse_value(const std::string& text) {
  Node plain;
  plain.type = NodeType::kText;
  plain.text = text;
  plain.overridden = true;
  const bool one_line = std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '#'; });
  if (!one_line || too_many_dots(text)) return plain;
  const toml::parse_result parsed = toml::parse("v = " + text);
  if (!parsed || parsed.table().size() != 1) return plain;
  Node node = node_of(*parsed.table().get("v"));
  if (node.type == NodeType::kOther) return plain;
  forget_places(node);
  return node;
}

}  // namespace nerve::sim::scenario_file
