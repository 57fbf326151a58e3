// Executes a collective in memory, message by message, in a random order among those that its plan
// allows. Each rank has a buffer of 64-bit values, one per byte. The contents of a message are read
// when it is sent, and written when the waiting item runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/collective/operation.h"

namespace nerve::sim::test {

struct Carried {
  std::vector<std::vector<std::uint64_t>> memory;  // per member
  std::vector<std::uint64_t> sent;                 // bytes, per member
  std::string trouble;                             // the plan got stuck, or added a value twice
};

[[nodiscard]] Carried carry_out(const CollectivePlan& plan,
                                std::vector<std::vector<std::uint64_t>> memory, std::uint64_t seed);

// The contents of each member before and after; zero means unspecified.
using Memory = std::vector<std::vector<std::uint64_t>>;
[[nodiscard]] Memory memory_before(const Operation& operation, std::uint32_t members);
[[nodiscard]] Memory memory_after(const Operation& operation, std::uint32_t members);

}  // namespace nerve::sim::test
