#include "sim/workload/simai/simai_words.h"

#include <algorithm>
#include <charconv>

namespace nerve::sim {
namespace {

constexpr std::size_t kLongestLine = 65'536;
constexpr std::uint64_t kMostSimaiBytes = std::uint64_t{1} << 50;

struct KindName {
  std::string_view name;
  CollectiveKind kind;
};
constexpr KindName kKindNames[] = {
    {"ALLREDUCE", CollectiveKind::kAllReduce},         {"ALLGATHER", CollectiveKind::kAllGather},
    {"REDUCESCATTER", CollectiveKind::kReduceScatter}, {"ALLTOALL", CollectiveKind::kAllToAll},
    {"BROADCAST", CollectiveKind::kBroadcast},
};
struct SuffixName {
  std::string_view name;
  SimaiGroup group;
};
constexpr SuffixName kSuffixNames[] = {
    {"_EP", SimaiGroup::kExpert}, {"_DP", SimaiGroup::kData}, {"_DP_EP", SimaiGroup::kExpertData}};

}  // namespace

std::string SimaiWords::printable(std::string_view word) {
  std::string text{word.substr(0, 40)};
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
  }
  return text;
}

bool SimaiWords::next_line() {
  constexpr std::string_view kBlanks = " \t\r";
  while (!rest_.empty() && !failed()) {
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    if (line.size() > kLongestLine) {
      return fail("a line of " + std::to_string(line.size()) + " bytes, the limit is " +
                  std::to_string(kLongestLine));
    }
    words_.clear();
    while (true) {
      const std::size_t first = line.find_first_not_of(kBlanks);
      if (first == std::string_view::npos) break;
      line.remove_prefix(first);
      const std::size_t size = std::min(line.find_first_of(kBlanks), line.size());
      words_.push_back(line.substr(0, size));
      line.remove_prefix(size);
    }
    if (!words_.empty()) return true;
  }
  return false;
}

bool SimaiWords::fail_at(std::uint64_t line, const std::string& why) {
  if (failed()) return false;
  error_ = std::string{file_} + ":" + std::to_string(std::max<std::uint64_t>(line, 1)) + ": " + why;
  return false;
}

bool SimaiWords::wrong(std::string_view name, std::string_view word, const std::string& expected) {
  return fail(std::string{name} + " is " + printable(word) + ", expected " + expected);
}

bool SimaiWords::number(std::size_t at, std::string_view name, std::uint64_t least,
                        std::uint64_t most, std::uint64_t& value) {
  if (at >= words_.size()) return fail(std::string{name} + " is missing");
  const std::string_view word = words_[at];
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc{} && end == word.data() + word.size() && value >= least && value <= most) {
    return true;
  }
  return wrong(name, word,
               "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

bool read_simai_collective(SimaiWords& words, std::size_t at, std::string_view name,
                           const SimaiGroups& groups, std::optional<SimaiCollective>& collective) {
  std::uint64_t bytes = 0;
  if (!words.number(at + 1, std::string{name} + " bytes", 0, kMostSimaiBytes, bytes)) return false;
  collective.reset();
  const std::string_view word = words[at];
  if (word == "NONE") return true;
  const auto* const kind = std::ranges::find_if(
      kKindNames, [&](const KindName& one) { return word.starts_with(one.name); });
  SimaiCollective found{.kind = {}, .group = groups.plain, .bytes = bytes};
  if (kind != std::end(kKindNames)) {
    found.kind = kind->kind;
    const std::string_view suffix = word.substr(kind->name.size());
    const auto* const group = std::ranges::find(kSuffixNames, suffix, &SuffixName::name);
    if (group != std::end(kSuffixNames)) {
      if (!groups.experts && group->group != SimaiGroup::kData) {
        return words.wrong(std::string{name} + " collective", word,
                           std::string{kind->name} + ": the first line has no ep");
      }
      found.group = group->group;
    } else if (!suffix.empty()) {
      return words.wrong(std::string{name} + " collective", word,
                         std::string{kind->name} + " alone or with _EP, _DP or _DP_EP");
    }
  } else {
    return words.wrong(
        std::string{name} + " collective", word,
        "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, with _EP, _DP, _DP_EP "
        "or nothing after it");
  }
  if (bytes > 0) collective = found;
  return true;
}

}  // namespace nerve::sim
