#include "cli/sim_sums.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/siphash.h"
#include "cli/file_bytes.h"
#include "cli/this_program.h"

namespace nerve::cli {

std::string sum_of(std::span<const std::byte> bytes) {
  std::uint64_t state = bytes.size();
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word = word << 8U | std::to_integer<std::uint64_t>(bytes[i]);
    if (i % 8 == 7 || i + 1 == bytes.size()) state = siphash({state, 0}, word);
  }
  return fmt::format("{:016x}", state);
}

std::string sum_of(std::string_view text) { return sum_of(std::as_bytes(std::span{text})); }

std::string sum_of_program() { return sum_of(read_bytes(this_program().string()).bytes); }

}  // namespace nerve::cli
