// A result with every field set, for tests of its consumers.
#pragma once

#include "sim/results/run_result.h"

namespace nerve::sim::test {

// Two NICs and a switch; a collective with training figures, and five flows, one of which did not
// end.
[[nodiscard]] RunResult sample_result();

}  // namespace nerve::sim::test
