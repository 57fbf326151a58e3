// A world of connection managers made from one seed: hosts that connect to each other and leave,
// over a network that loses, doubles, reorders and goes dark.
#pragma once

#include "tests/dst/world.h"

namespace nerve::dst {

[[nodiscard]] Outcome run_connections(std::uint64_t seed, const Options& options = {});

}  // namespace nerve::dst
