#include "sim/scenario/override.h"

#include <charconv>
#include <vector>

namespace nerve::sim {
namespace scenario_file {
namespace {

std::vector<std::string> words_of(std::string_view key) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t dot = key.find('.');
    words.emplace_back(key.substr(0, dot));
    if (dot == std::string_view::npos) return words;
    key.remove_prefix(dot + 1);
  }
}

Node* element_of(Node& list, const std::string& word, std::string& why) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  if (error != std::errc{} || end != word.data() + word.size()) {
    why = "'" + word + "' is not a number; write the index in the list, from 0, as in job.0.size";
    return nullptr;
  }
  if (index >= list.children.size()) {
    why = "there is no entry " + word + "; the list has " + std::to_string(list.children.size()) +
          ", counted from 0";
    return nullptr;
  }
  return &list.children[index];
}

Node* child_of(Node& at, const std::string& word, std::string& why) {
  if (at.type == NodeType::kList) return element_of(at, word, why);
  if (at.type != NodeType::kTable) {
    why = shown(at) + " is not a table and has no key '" + word + "'";
    return nullptr;
  }
  for (Node& child : at.children) {
    if (child.key == word) return &child;
  }
  at.children.emplace_back();
  at.children.back().key = word;
  at.children.back().overridden = true;
  return &at.children.back();
}

}  // namespace

std::string apply(Node& document, const Override& override) {
  const std::vector<std::string> words = words_of(override.key);
  constexpr std::size_t kDeepest = 8;
  if (words.size() > kDeepest)
    return "the key has more than " + std::to_string(kDeepest) + " parts";
  std::string why;
  Node* at = &document;
  for (const std::string& word : words) {
    at = child_of(*at, word, why);
    if (at == nullptr) return why;
  }
  Node value = parse_value(override.value);
  value.key = at->key;
  *at = std::move(value);
  return {};
}

}  // namespace scenario_file

Result<Override, std::string> parse_override(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Unexpected{"'" + std::string{text} + "': write key=value, as in fabric.routing=spray"};
  }
  const auto trimmed = [](std::string_view part) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    return std::string{part};
  };
  return Override{trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1))};
}

}  // namespace nerve::sim
