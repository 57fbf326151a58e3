// A world of connection managers made from one seed: hosts that connect and disconnect, over a
// network that loses, duplicates, reorders and goes down.
#pragma once

#include "tests/dst/world.h"

namespace nerve::dst {

[[nodiscard]] Outcome run_connections(std::uint64_t seed, const Options& options = {});

}  // namespace nerve::dst
