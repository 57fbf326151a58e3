// Makes a failing world small: leaves out connections, requests, lives and faults for as long as
// the world still fails in the same way. What remains is a story that a person can read.
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
  std::vector<std::string> story{};  // everything that happened up to it
  std::uint32_t runs{};              // worlds that were tried
};

// The world of `seed` must fail. Worlds that fail with another message do not count: a different
// bug would replace the one that is being looked for.
[[nodiscard]] Shrunk shrink(std::uint64_t seed, Options options);

// What a failing test prints: the violation, what was left out, and the end of the story.
[[nodiscard]] std::string describe(const Shrunk& shrunk);

}  // namespace nerve::dst
