// A plain reference of the reductions: one element at a time, in long double or 64-bit integers
// where that gives the only right result.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "ai/half.h"
#include "ai/reduce.h"
#include "ai/types.h"

namespace ai_test {

using nerve::ai::DataType;
using nerve::ai::ReduceOp;

// What can be done with an element of each type without the kernels.
double load(DataType type, const std::byte* at);
void store(DataType type, std::byte* at, double value);
// value[0] op value[1] op ..., rounded as the type does; `divisor` as in combine().
double reduce(DataType type, ReduceOp op, const std::vector<double>& values, double divisor);

}  // namespace ai_test
