// What a process has done so far, in words: for `nerve stat` and for the summary at its end.
#pragma once

#include <string>

#include "host/host.h"

namespace nerve::host {

// Lines of "name value", in an order that does not change. With the lock held.
[[nodiscard]] std::string report(Host::Shared& shared);

}  // namespace nerve::host
