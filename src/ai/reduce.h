// Reduction kernels: combine the contributions of all ranks, element by element.
//
// The order is fixed: ((c[0] op c[1]) op c[2]) and so on. The 16-bit formats are combined in float
// and rounded once at the end. A NaN in any contribution gives a NaN for every operation. Integers
// wrap around.
#pragma once

#include <cstddef>
#include <span>

#include "ai/types.h"

namespace nerve::ai {

// out[i] = contributions[0][i] op contributions[1][i] op ... for `count` elements. `out` may be the
// same memory as one of the contributions, but may not overlap one in any other way. No alignment
// is needed. `divisor`: what kAverage divides by; 0 leaves the sum.
void combine(DataType type, ReduceOp op, void* out, std::span<const void* const> contributions,
             std::size_t count, std::size_t divisor);

}  // namespace nerve::ai
