// A result in which everything is there, for tests of what is made of results.
#pragma once

#include "sim/results/run_result.h"

namespace nerve::sim::test {

// Two NICs and a switch; a collective that trained, and five flows, of which one never ended.
[[nodiscard]] RunResult sample_result();

}  // namespace nerve::sim::test
