// The CPUs that this process may use.
#pragma once

#include <cstdint>

namespace nerve::host {

// The number of CPUs on which the calling thread may run.
[[nodiscard]] std::uint32_t usable_cpus();

}  // namespace nerve::host
