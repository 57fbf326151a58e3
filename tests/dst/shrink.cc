#include "tests/dst/shrink.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace nerve::dst {
namespace {

constexpr std::uint32_t kMostRuns = 400;

// A violation without its numbers: smaller worlds have other times, QPNs and counts.
std::string kind_of(std::string_view violation) {
  std::string kind;
  for (const char c : violation) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == ' ') continue;
    kind += c;
  }
  return kind;
}

class Shrinker {
 public:
  Shrinker(std::uint64_t seed, const Options& options) : seed_{seed}, options_{options} {}

  Shrunk shrink() {
    const Outcome whole = run_seed(seed_, options_);
    if (whole.violations.empty()) return {.limits = options_.limits, .runs = runs_};
    kind_ = kind_of(whole.violations.front());
    bool smaller = true;
    while (std::exchange(smaller, false)) {
      for (std::uint32_t i = 0; i < std::min(whole.connections, Limits::kConnections); ++i) {
        smaller |= try_with([&](Limits& l) { l.connections_off |= 1U << i; });
      }
      for (unsigned part = 0; part < static_cast<unsigned>(Part::kCount); ++part) {
        smaller |= try_with([&](Limits& l) { l.parts_off |= 1U << part; });
      }
      smaller |= lower(&Limits::lives, 8);
      smaller |= lower(&Limits::requests, 128);
    }
    options_.story = true;
    Outcome smallest = run_seed(seed_, options_);
    const auto end = std::ranges::find_if(smallest.story, [](const std::string& line) {
      return line.find("VIOLATION") != std::string::npos;
    });
    if (end != smallest.story.end()) smallest.story.erase(end + 1, smallest.story.end());
    return {.limits = options_.limits,
            .violation = smallest.violations.front(),
            .story = std::move(smallest.story),
            .runs = runs_};
  }

 private:
  std::optional<std::string> run(const Limits& limits) {
    ++runs_;
    Options options = options_;
    options.limits = limits;
    options.trace = false;
    const Outcome outcome = run_seed(seed_, options);
    if (outcome.violations.empty()) return std::nullopt;
    return outcome.violations.front();
  }

  // Keeps the change if the world still fails in the same way.
  template <class Change>
  bool try_with(Change change) {
    Limits limits = options_.limits;
    change(limits);
    if (limits == options_.limits || runs_ >= kMostRuns) return false;
    const auto violation = run(limits);
    if (!violation || kind_of(*violation) != kind_) return false;
    options_.limits = limits;
    return true;
  }

  // The smallest value that still fails, by bisection and then one by one, since failing is mostly
  // but not strictly monotonic.
  bool lower(std::uint32_t Limits::*value, std::uint32_t from) {
    bool lowered = false;
    std::uint32_t at = std::min(options_.limits.*value, from);
    for (std::uint32_t step = at / 2; step > 0; step /= 2) {
      while (at > step && try_with([&](Limits& l) { l.*value = at - step; })) {
        at -= step;
        lowered = true;
      }
    }
    return lowered;
  }

  std::uint64_t seed_;
  Options options_;
  std::uint32_t runs_{1};
  std::string kind_;
};

}  // namespace

std::string describe(const Limits& limits) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  if (limits.connections_off != 0) {
    std::string names;
    for (unsigned i = 0; i < Limits::kConnections; ++i) {
      if (limits.without_connection(i)) names += " " + std::to_string(i);
    }
    add("without connections" + names);
  }
  if (limits.requests != ~0U) {
    add("at most " + std::to_string(limits.requests) + " requests a connection");
  }
  if (limits.lives != ~0U) add("at most " + std::to_string(limits.lives) + " lives");
  for (unsigned part = 0; part < static_cast<unsigned>(Part::kCount); ++part) {
    if (limits.off(static_cast<Part>(part))) {
      add("no " + std::string{name_of(static_cast<Part>(part))});
    }
  }
  return text.empty() ? "nothing left out" : text;
}

Shrunk shrink(std::uint64_t seed, Options options) { return Shrinker{seed, options}.shrink(); }

std::string describe(const Shrunk& shrunk) {
  constexpr std::size_t kLines = 60;
  std::string text = "the smallest world that fails like this (" + describe(shrunk.limits) + "; " +
                     std::to_string(shrunk.runs) + " tried):\n";
  const std::size_t count = shrunk.story.size();
  if (count > kLines) text += "  ... " + std::to_string(count - kLines) + " lines before\n";
  for (std::size_t i = count - std::min(count, kLines); i < count; ++i) {
    text += "  " + shrunk.story[i] + "\n";
  }
  return text;
}

}  // namespace nerve::dst
