// From what was seen to causes: rules 1 to 5 of docs/why.md. words.h makes sentences of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/why/cause.h"
#include "sim/why/evidence.h"

namespace nerve::sim {

// A cause with its time. What is named is in `port`, `count` and `flows`, where it applies.
struct Finding {
  Cause cause{};
  Duration time{};
  bool at_most{};
  std::optional<std::uint32_t> port{};  // the worst: a link
  std::uint32_t count{};                // ports concerned
  std::uint32_t flows{};                // in the worst queue
  double unused{};                      // share of the cables beside it
  Duration pauses{};                    // that follow from it
};

struct Diagnosis {
  Duration took{};
  Duration floor{};
  Duration excess{};
  std::uint64_t steps{};
  bool known{};       // there is a time to compare with
  bool at_bound{};    // the excess is too small to be explained
  bool in_shares{};   // times are parts of the excess; otherwise how long each was seen
  bool circular{};    // pauses without a root
  Duration window{};  // from the job's start to its end
  std::vector<Finding> findings;
};

// Whether a NIC begins these pauses by itself.
[[nodiscard]] bool is_storm(const Evidence& evidence, const Finding& pauses);

[[nodiscard]] Diagnosis diagnose(const Evidence& evidence, std::size_t job);

}  // namespace nerve::sim
