#include "sim/scenario/document_text.h"

#include <algorithm>

#include "sim/scenario/units.h"

namespace nerve::sim::scenario_file {
namespace {

std::string quoted(const std::string& text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (byte < ' ' || byte == 0x7f) {
      (out += "\\u00") += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string key_text(const std::string& key) {
  const bool bare = !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return bare ? key : quoted(key);
}

bool holds_tables(const Node& node) {
  return node.type == NodeType::kList && !node.children.empty() &&
         std::ranges::all_of(node.children,
                             [](const Node& child) { return child.type == NodeType::kTable; });
}

bool is_plain(const Node& node) {
  return node.type != NodeType::kTable && node.type != NodeType::kOther && !holds_tables(node);
}

std::string inline_text(const Node& node);

std::string inline_list(const Node& list) {
  std::string text;
  for (const Node& child : list.children) {
    if (child.type == NodeType::kOther) continue;
    text += (text.empty() ? "" : ", ") + inline_text(child);
  }
  return "[" + text + "]";
}

std::string inline_table(const Node& table) {
  std::string text;
  for (const Node& child : table.children) {
    if (child.type == NodeType::kOther) continue;
    text += (text.empty() ? "" : ", ") + key_text(child.key) + " = " + inline_text(child);
  }
  return "{" + text + "}";
}

std::string inline_text(const Node& node) {
  switch (node.type) {
    case NodeType::kText:
      return quoted(node.text);
    case NodeType::kInteger:
      return std::to_string(node.integer);
    case NodeType::kNumber: {
      const std::string text = number_text(node.number);
      const bool looks_whole = text.find_first_of(".en") == std::string::npos;  // nan, inf
      return looks_whole ? text + ".0" : text;
    }
    case NodeType::kSwitch:
      return node.on ? "true" : "false";
    case NodeType::kList:
      return inline_list(node);
    case NodeType::kTable:
      return inline_table(node);
    case NodeType::kOther:
      break;
  }
  return "";
}

void write_table(const Node& table, const std::string& path, std::string& out) {
  for (const Node& child : table.children) {
    if (is_plain(child)) out += key_text(child.key) + " = " + inline_text(child) + "\n";
  }
  for (const Node& child : table.children) {
    const std::string below = (path.empty() ? "" : path + ".") + key_text(child.key);
    if (child.type == NodeType::kTable) {
      out += "\n[" + below + "]\n";
      write_table(child, below, out);
    } else if (holds_tables(child)) {
      for (const Node& element : child.children) {
        out += "\n[[" + below + "]]\n";
        write_table(element, below, out);
      }
    }
  }
}

}  // namespace

std::string text_of(const Node& document) {
  std::string text;
  write_table(document, "", text);
  return text;
}

}  // namespace nerve::sim::scenario_file
