// Single numbers that the kernel tells in files of /proc/sys.
#pragma once

#include <cstdint>
#include <optional>

namespace nerve::cli {

[[nodiscard]] std::optional<std::int64_t> kernel_number(const char* file);

}  // namespace nerve::cli
