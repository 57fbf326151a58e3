// SipHash-2-4 of one 64-bit word: a keyed function whose outputs reveal nothing about each other.
//
// Memory keys are made with it: a peer that knows one rkey must not be able to guess another.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace nerve {

using SipKey = std::array<std::uint64_t, 2>;

constexpr std::uint64_t siphash(const SipKey& key, std::uint64_t word) {
  std::uint64_t v0 = key[0] ^ 0x736f6d6570736575;
  std::uint64_t v1 = key[1] ^ 0x646f72616e646f6d;
  std::uint64_t v2 = key[0] ^ 0x6c7967656e657261;
  std::uint64_t v3 = key[1] ^ 0x7465646279746573;
  const auto round = [&] {
    v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
    v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
  };
  const auto absorb = [&](std::uint64_t block) {
    v3 ^= block;
    round(), round();
    v0 ^= block;
  };
  absorb(word);
  absorb(std::uint64_t{8} << 56);  // the final block holds the length
  v2 ^= 0xff;
  round(), round(), round(), round();
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace nerve
