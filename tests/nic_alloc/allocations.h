// Counts allocations: linking allocations.cc replaces operator new.
#pragma once

#include <cstdint>

namespace nerve::test {

// Since the start of the program.
[[nodiscard]] std::uint64_t allocations();

}  // namespace nerve::test
