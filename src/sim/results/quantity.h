// Numbers with their units, as people read them: four digits that matter, a unit that fits.
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
[[nodiscard]] std::string count_text(double count);               // 12.4 M; below 10 000 all digits
[[nodiscard]] std::string share_text(double share);               // 12.3 %

// What a terminal can show of a text from a file: control characters become question marks.
[[nodiscard]] std::string plain(std::string text);

}  // namespace nerve::sim
