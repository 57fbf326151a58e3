// Counts what the program allocates: linking allocations.cc replaces operator new.
#pragma once

#include <cstdint>

namespace nerve::test {

// Since the program began.
[[nodiscard]] std::uint64_t allocations();

}  // namespace nerve::test
