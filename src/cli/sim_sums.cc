#include "cli/sim_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "cli/file_bytes.h"
#include "cli/this_program.h"

namespace nerve::cli {

// Fast, because the program itself is tens of megabytes. It tells accidents apart, not forgeries.
std::string sum_of(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  std::uint64_t sum = bytes.size();
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t count = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), count);
    sum = std::rotl((sum ^ word) * kOdd, 29);
    bytes = bytes.subspan(count);
  }
  return fmt::format("{:016x}", sum);
}

std::string sum_of(std::string_view text) { return sum_of(std::as_bytes(std::span{text})); }

std::string sum_of_program() { return sum_of(read_bytes(this_program().string()).bytes); }

}  // namespace nerve::cli
