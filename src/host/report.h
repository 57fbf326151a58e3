// What a process has done so far, in words: for `nerve stat`.
#pragma once

#include <string>

#include "host/host.h"

namespace nerve::host {

// Lines of "name value", in an order that does not change. With the lock held.
[[nodiscard]] std::string report(Host::Shared& shared);

// Of all engines of this process. With the lock held.
[[nodiscard]] nic::Counters total_counters(const Host::Shared& shared);

[[nodiscard]] std::uint64_t own_pid();
[[nodiscard]] std::string own_name();  // as the kernel lists this process

}  // namespace nerve::host
