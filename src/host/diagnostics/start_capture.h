// Starts a new capture file: for `nerve run`, before its program starts.
#pragma once

#include <string>

namespace nerve::host {

// Empties the capture of an earlier run, unless a live process is writing to it. Returns an empty
// string on success, otherwise the error.
[[nodiscard]] std::string start_capture(const std::string& file);

}  // namespace nerve::host
