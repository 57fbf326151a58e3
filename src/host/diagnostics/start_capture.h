// For `nerve run`, before its program starts: a capture begins anew.
#pragma once

#include <string>

namespace nerve::host {

// Empties the capture of an earlier run, unless a living process writes to it. Empty when all is
// well, else what is wrong.
[[nodiscard]] std::string start_capture(const std::string& file);

}  // namespace nerve::host
