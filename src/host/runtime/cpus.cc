#include "host/runtime/cpus.h"

#include <sched.h>

#include <algorithm>

namespace nerve::host {

std::uint32_t usable_cpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(CPU_COUNT(&set), 1));
}

}  // namespace nerve::host
