// Generates memory keys that a peer cannot predict, without repetition.
//
// A counter is passed through a secret permutation of the 32-bit numbers (a Feistel network whose
// round function is SipHash). A plain hash of the counter would be as hard to guess, but would
// repeat an earlier key after some 2^16 draws. A permutation repeats none before 2^32, so that a
// stale key stays stale.
#pragma once

#include <cstdint>

#include "base/siphash.h"

namespace nerve::nic {

class KeySequence {
 public:
  explicit KeySequence(const SipKey& secret) : secret_{secret} {}

  // Returns every 32-bit value once, including zero, before any value repeats.
  std::uint32_t next() { return permute(count_++); }

  // The increment of the variant byte of a window's key. It is odd, so all 256 values are used
  // before one repeats; it is secret, so a peer cannot derive the next key when a window is bound
  // again.
  [[nodiscard]] std::uint8_t stride(std::uint32_t key_index) const {
    return static_cast<std::uint8_t>(siphash(secret_, kStrideDomain | key_index) | 1U);
  }

 private:
  static constexpr unsigned kRounds = 4;
  static constexpr std::uint64_t kStrideDomain = std::uint64_t{kRounds}
                                                 << 32;  // distinct from the input
                                                         // of every round

  [[nodiscard]] std::uint32_t permute(std::uint32_t value) const {
    std::uint32_t left = value >> 16;
    std::uint32_t right = value & 0xffff;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const auto mixed = static_cast<std::uint32_t>(siphash(secret_, (round << 32) | right));
      const std::uint32_t swapped = left ^ (mixed & 0xffff);
      left = right;
      right = swapped;
    }
    return (left << 16) | right;
  }

  SipKey secret_;
  std::uint32_t count_{};
};

}  // namespace nerve::nic
