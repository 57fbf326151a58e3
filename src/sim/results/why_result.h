// Why jobs took longer than their bounds: docs/why.md. Plain values; none of them is in the hash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

struct CauseResult {
  std::string kind{};  // collisions, incast, ...: src/sim/why/cause.h
  Duration time{};     // that it cost, over all steps
  double share{};      // of the excess; zero: unknown
  bool at_most{};      // `time` is an upper limit
  std::string where{};
  std::string text{};  // a sentence
};

struct JobWhy {
  std::string job{};
  Duration took{};   // all steps; without a bound, the mean flow
  Duration floor{};  // the least time for the same
  Duration excess{};
  std::vector<CauseResult> causes{};  // the most important first
  std::string paragraph{};
};

// The paragraph in pieces, to show one below the other: what it took, a piece for each cause, the
// rest.
[[nodiscard]] std::vector<std::string> pieces_of(const JobWhy& why);

// A run with some values changed, to see what they cost.
struct Trial {
  std::string cause{};             // kind
  std::vector<std::string> set{};  // key=value, as for --set
  std::string job{};               // whose time this is
  bool done{};
  Duration took{};
  double takes_away{};  // share of that job's excess; negative: it took longer
  std::string error{};  // if it could not run
};

}  // namespace nerve::sim
