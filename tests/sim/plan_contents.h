// A collective carried out in memory, message by message, in an order that a seed chooses among
// those that its plan allows. Each rank has a buffer of 64-bit values, one for each byte; what a
// message carries is read when it goes, and written when the item that waits for it comes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/collective/operation.h"

namespace nerve::sim::test {

struct Carried {
  std::vector<std::vector<std::uint64_t>> memory;  // of each member
  std::vector<std::uint64_t> sent;                 // bytes, by each member
  std::string trouble;                             // a plan that got stuck, or added one twice
};

[[nodiscard]] Carried carry_out(const CollectivePlan& plan,
                                std::vector<std::vector<std::uint64_t>> memory, std::uint64_t seed);

// What each member has before, and what it must have after; no promise where that is zero.
using Memory = std::vector<std::vector<std::uint64_t>>;
[[nodiscard]] Memory memory_before(const Operation& operation, std::uint32_t members);
[[nodiscard]] Memory memory_after(const Operation& operation, std::uint32_t members);

}  // namespace nerve::sim::test
