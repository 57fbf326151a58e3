#include "wire/syndrome.h"

#include <algorithm>
#include <array>

namespace nerve::wire {
namespace {

using std::chrono::microseconds;

// Indexed by credit code. The steps are about the square root of two, so that five bits cover a
// wide range.
constexpr std::array<std::uint32_t, kCreditsUnknown> kCredits{
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

// Indexed by RNR timer code; in units of 10 us.
constexpr std::array<std::int64_t, 32> kRnrTens{
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

constexpr unsigned kExponentMask = 0x1f;

}  // namespace

std::optional<std::uint32_t> credits_of(std::uint8_t code) {
  if (code >= kCreditsUnknown) return std::nullopt;
  return kCredits[code];
}

std::uint8_t credit_code(std::uint32_t receives) {
  const auto above = std::upper_bound(kCredits.begin(), kCredits.end(), receives);
  return static_cast<std::uint8_t>(above - kCredits.begin() - 1);
}

Duration rnr_delay(std::uint8_t code) { return microseconds{10 * kRnrTens[value_of(code)]}; }

std::optional<Duration> ack_timeout(std::uint8_t exponent) {
  const unsigned shift = exponent & kExponentMask;
  if (shift == 0) return std::nullopt;
  return std::chrono::nanoseconds{std::int64_t{4096} << shift};
}

}  // namespace nerve::wire
