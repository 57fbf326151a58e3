// Minimises a failing world: leaves out connections, requests, lives and faults as long as the
// world still fails in the same way. The rest is short enough to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/dst/limits.h"
#include "tests/dst/world.h"

namespace nerve::dst {

struct Shrunk {
  Limits limits{};
  std::string violation{};           // the first, of the smallest world
  std::vector<std::string> story{};  // everything that happened before it
  std::uint32_t runs{};              // worlds that were tried
};

// The world of `seed` must fail. Worlds that fail with another message do not count: they would
// replace the bug in question by another.
[[nodiscard]] Shrunk shrink(std::uint64_t seed, Options options);

// The text that a failing test prints: the violation, what was left out, and the last events.
[[nodiscard]] std::string describe(const Shrunk& shrunk);

}  // namespace nerve::dst
