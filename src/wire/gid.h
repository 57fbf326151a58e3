// A GID: the 16 octets by which verbs name a port. In RoCEv2 it is the port's IP address, an IPv4
// one as ::ffff:a.b.c.d.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nerve::wire {

struct Gid {
  std::array<std::byte, 16> octets{};

  static constexpr Gid ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    Gid gid;
    gid.octets[10] = gid.octets[11] = std::byte{0xff};
    gid.octets[12] = std::byte{a};
    gid.octets[13] = std::byte{b};
    gid.octets[14] = std::byte{c};
    gid.octets[15] = std::byte{d};
    return gid;
  }
  [[nodiscard]] constexpr bool is_ipv4() const {
    for (std::size_t i = 0; i < 10; ++i) {
      if (octets[i] != std::byte{0}) return false;
    }
    return octets[10] == std::byte{0xff} && octets[11] == std::byte{0xff};
  }
  [[nodiscard]] constexpr bool is_multicast() const {
    if (is_ipv4()) return (octets[12] & std::byte{0xf0}) == std::byte{0xe0};
    return octets[0] == std::byte{0xff};
  }
  [[nodiscard]] constexpr bool is_zero() const { return *this == Gid{}; }

  // As two words: a compiler makes sixteen steps of comparing sixteen octets, and every packet
  // received is compared with its QP's peer.
  friend constexpr bool operator==(const Gid& a, const Gid& b) {
    using Words = std::array<std::uint64_t, 2>;
    return std::bit_cast<Words>(a.octets) == std::bit_cast<Words>(b.octets);
  }
};

}  // namespace nerve::wire
