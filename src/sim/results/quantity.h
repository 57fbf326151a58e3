// Numbers with units for display: four significant digits and a fitting unit.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace nerve::sim {

[[nodiscard]] std::string time_text(double picoseconds);  // 12.34 us
[[nodiscard]] std::string time_text(Duration time);
[[nodiscard]] std::string bytes_text(double bytes);               // 1.5 MB, in steps of 1000
[[nodiscard]] std::string byte_rate_text(double per_second);      // 46.2 GB/s
[[nodiscard]] std::string bit_rate_text(double bits_per_second);  // 400 Gb/s
[[nodiscard]] std::string count_text(double count);               // 12.4 M; all digits below 10 000
[[nodiscard]] std::string share_text(double share);               // 12.3 %

// Makes a text from a file safe for a terminal: control characters become question marks.
[[nodiscard]] std::string plain(std::string text);

}  // namespace nerve::sim
