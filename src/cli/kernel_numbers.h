// Reads single numbers from files in /proc/sys.
#pragma once

#include <cstdint>
#include <optional>

namespace nerve::cli {

[[nodiscard]] std::optional<std::int64_t> kernel_number(const char* file);

}  // namespace nerve::cli
