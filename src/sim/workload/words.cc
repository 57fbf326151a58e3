#include "sim/workload/words.h"

#include <array>
#include <charconv>

namespace nerve::sim {
namespace {

// Three digits, without trailing zeros after the point.
std::string scaled(double value, std::string_view units_from_one, std::string_view unit) {
  std::size_t step = 0;
  while (value >= 999.5 && step + 1 < units_from_one.size()) {
    value /= 1000;
    ++step;
  }
  const int digits = value < 9.995 ? 2 : (value < 99.95 ? 1 : 0);
  std::array<char, 40> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::fixed, digits);
  std::string words{text.data(), end};
  if (words.find('.') != std::string::npos) {
    words.erase(words.find_last_not_of('0') + 1);
    if (words.back() == '.') words.pop_back();
  }
  const char prefix = units_from_one[step];
  if (prefix == ' ' && unit.empty()) return words;
  words += ' ';
  if (prefix != ' ') words += prefix;
  words += unit;
  return words;
}

}  // namespace

std::string_view words_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all-reduce";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
    case CollectiveKind::kAllGather:
      return "all-gather";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kAllToAll:
      return "all-to-all";
  }
  return "collective";
}

std::string_view words_of(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kAuto:
      return "auto";
    case CollectiveAlgorithm::kRing:
      return "ring";
    case CollectiveAlgorithm::kTree:
      return "tree";
    case CollectiveAlgorithm::kHalvingDoubling:
      return "halving-doubling";
    case CollectiveAlgorithm::kHierarchical:
      return "hierarchical";
    case CollectiveAlgorithm::kDirect:
      return "direct";
  }
  return "unknown";
}

std::string_view words_of(FlowPattern pattern) {
  switch (pattern) {
    case FlowPattern::kPermutation:
      return "permutation";
    case FlowPattern::kShift:
      return "shift";
    case FlowPattern::kIncast:
      return "incast";
    case FlowPattern::kAllToAll:
      return "all-to-all flows";
    case FlowPattern::kRandom:
      return "random flows";
    case FlowPattern::kList:
      return "flow list";
    case FlowPattern::kCheckpoint:
      return "checkpoint";
    case FlowPattern::kKvCache:
      return "KV cache transfer";
  }
  return "flows";
}

std::string bytes_in_words(std::uint64_t bytes) {
  return scaled(static_cast<double>(bytes), " kMGTPE", "B");
}

std::string count_in_words(double count) { return scaled(count, " kMBT", ""); }

std::string number_in_words(double number) {
  std::array<char, 40> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end};
}

}  // namespace nerve::sim
