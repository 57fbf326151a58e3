#include "sim/workload/flow_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "sim/workload/whole_file.h"

namespace nerve::sim {
namespace {

constexpr std::uint64_t kMostListed = 10'000'000;
constexpr double kLatestStart = 1e6;  // seconds
constexpr std::size_t kLargestFile = 1'000'000'000;

class Reader {
 public:
  Reader(std::string_view text, std::string_view file, std::uint32_t ranks)
      : rest_{text}, file_{file}, ranks_{ranks} {}

  Result<std::vector<ListedFlow>, std::string> read() {
    if (!next_line()) return fail("the file is empty, expected the number of flows");
    std::uint64_t count = 0;
    if (words_ != 1 || !number(0, "number of flows", 1, kMostListed, count)) {
      return fail("expected the number of flows alone on the first line");
    }
    std::vector<ListedFlow> flows;
    while (next_line()) {
      ListedFlow flow;
      if (flows.size() == count) {
        return fail("more flows than the " + std::to_string(count) +
                    " announced in the first line");
      }
      if (!read_flow(flow)) return fail("");
      flows.push_back(flow);
    }
    if (flows.size() < count) {
      return fail(std::to_string(flows.size()) + " flows, but the first line announces " +
                  std::to_string(count));
    }
    std::ranges::stable_sort(flows, {}, &ListedFlow::start);
    return flows;
  }

 private:
  static constexpr std::size_t kWords = 6;

  // Reports the first reason found.
  Unexpected<std::string> fail(const std::string& why) {
    return Unexpected{std::string{file_} + ":" + std::to_string(std::max<std::uint64_t>(line_, 1)) +
                      ": " + (why_.empty() ? why : why_)};
  }

  // Skips blank lines. Counts surplus words but does not keep them.
  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++line_;
      split(line);
      if (words_ > 0) return true;
    }
    return false;
  }

  void split(std::string_view line) {
    constexpr std::string_view kBlank = " \t\r";
    words_ = 0;
    while (true) {
      const std::size_t first = line.find_first_not_of(kBlank);
      if (first == std::string_view::npos) return;
      line.remove_prefix(first);
      const std::size_t size = std::min(line.find_first_of(kBlank), line.size());
      if (words_ < kWords) word_[words_] = line.substr(0, size);
      ++words_;
      line.remove_prefix(size);
    }
  }

  bool wrong(std::string_view name, std::string_view word, const std::string& expected) {
    why_ = std::string{name} + " is " + std::string{word.substr(0, 40)} + ", expected " + expected;
    return false;
  }

  bool number(std::size_t at, std::string_view name, std::uint64_t least, std::uint64_t most,
              std::uint64_t& value) {
    const std::string_view word = word_[at];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc{} && end == word.data() + word.size() && value >= least &&
        value <= most) {
      return true;
    }
    return wrong(name, word,
                 "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }

  bool seconds(std::size_t at, Duration& start) {
    const std::string_view word = word_[at];
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() ||
        !(value >= 0 && value <= kLatestStart)) {
      return wrong("start", word, "seconds from 0 to 1000000");
    }
    start = Duration{std::llround(value * 1e12)};
    return true;
  }

  bool read_flow(ListedFlow& flow) {
    if (words_ != kWords) {
      why_ = std::to_string(words_) + " words, expected 6: src dst priority port bytes start";
      return false;
    }
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t ignored = 0;
    const std::uint64_t last = ranks_ - 1;
    if (!number(0, "src", 0, last, from) || !number(1, "dst", 0, last, to) ||
        !number(2, "priority", 0, 7, ignored) || !number(3, "port", 0, 65'535, ignored) ||
        !number(4, "bytes", 1, kMostFlowBytes, flow.bytes) || !seconds(5, flow.start)) {
      return false;
    }
    if (from == to) return wrong("dst", word_[1], "another than src");
    flow.from = static_cast<std::uint32_t>(from);
    flow.to = static_cast<std::uint32_t>(to);
    return true;
  }

  std::string_view rest_;
  std::string_view file_;
  std::uint32_t ranks_;
  std::uint64_t line_{};
  std::array<std::string_view, kWords> word_{};
  std::size_t words_{};
  std::string why_;
};

}  // namespace

Result<std::vector<ListedFlow>, std::string> parse_flow_list(std::string_view text,
                                                             std::string_view file,
                                                             std::uint32_t ranks) {
  return Reader{text, file, ranks}.read();
}

Result<std::vector<ListedFlow>, std::string> read_flow_list(const std::string& file,
                                                            std::uint32_t ranks) {
  const auto text = read_whole_file(file, kLargestFile);
  if (!text) return Unexpected{text.error()};
  return parse_flow_list(*text, file, ranks);
}

}  // namespace nerve::sim
