// Memory keys that a peer cannot foretell, none of them drawn twice.
//
// A counter goes through a secret permutation of the 32-bit numbers (a Feistel network whose round
// function is SipHash). A plain hash of the counter would be as hard to guess, but would
// repeat a key of the past after some 2^16 draws; a permutation repeats none before 2^32, so that
// a stale key stays stale.
#pragma once

#include <cstdint>

#include "base/siphash.h"

namespace nerve::nic {

class KeySequence {
 public:
  explicit KeySequence(const SipKey& secret) : secret_{secret} {}

  // Every 32-bit value once, zero among them, then all of them again.
  std::uint32_t next() { return permute(count_++); }

  // The step by which the variant byte of a window's key moves on. Being odd, it visits all 256
  // values before one returns; being secret, it does not tell a peer whose window was bound anew
  // what the next key is.
  [[nodiscard]] std::uint8_t stride(std::uint32_t key_index) const {
    return static_cast<std::uint8_t>(siphash(secret_, kStrideDomain | key_index) | 1U);
  }

 private:
  static constexpr unsigned kRounds = 4;
  static constexpr std::uint64_t kStrideDomain = std::uint64_t{kRounds} << 32;  // no round's input

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
