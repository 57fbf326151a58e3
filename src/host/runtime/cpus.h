// The CPUs that this process may use.
#pragma once

#include <cstdint>

namespace nerve::host {

// On how many CPUs the calling thread may run.
[[nodiscard]] std::uint32_t usable_cpus();

}  // namespace nerve::host
