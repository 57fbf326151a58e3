// Formats large numbers with two significant digits and a unit in steps of 1000.
#pragma once

#include <cstdint>
#include <string>

namespace nerve::host {

[[nodiscard]] std::string bytes_text(std::uint64_t bytes);  // "1.2 GB"; "0" for zero
[[nodiscard]] std::string count_text(std::uint64_t count);  // "312 k"

}  // namespace nerve::host
