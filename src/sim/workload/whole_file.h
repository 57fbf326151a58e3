// Reads a file of a workload into memory, up to a limit.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace nerve::sim {

[[nodiscard]] Result<std::string, std::string> read_whole_file(const std::string& file,
                                                               std::size_t largest);

}  // namespace nerve::sim
