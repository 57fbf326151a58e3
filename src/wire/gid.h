// A GID: the 16 bytes with which verbs identify a port. In RoCEv2 it is the port's IP address; an
// IPv4 address is mapped to ::ffff:a.b.c.d.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nerve::wire {

struct Gid {
  std::array<std::byte, 16> bytes{};

  static constexpr Gid ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    Gid gid;
    gid.bytes[10] = gid.bytes[11] = std::byte{0xff};
    gid.bytes[12] = std::byte{a};
    gid.bytes[13] = std::byte{b};
    gid.bytes[14] = std::byte{c};
    gid.bytes[15] = std::byte{d};
    return gid;
  }
  [[nodiscard]] constexpr bool is_ipv4() const {
    for (std::size_t i = 0; i < 10; ++i) {
      if (bytes[i] != std::byte{0}) return false;
    }
    return bytes[10] == std::byte{0xff} && bytes[11] == std::byte{0xff};
  }
  [[nodiscard]] constexpr bool is_multicast() const {
    if (is_ipv4()) return (bytes[12] & std::byte{0xf0}) == std::byte{0xe0};
    return bytes[0] == std::byte{0xff};
  }
  [[nodiscard]] constexpr bool is_zero() const { return *this == Gid{}; }

  // Compares two words, because compilers expand a comparison of sixteen bytes into sixteen steps,
  // and every received packet is compared with its QP's peer.
  friend constexpr bool operator==(const Gid& a, const Gid& b) {
    using Words = std::array<std::uint64_t, 2>;
    return std::bit_cast<Words>(a.bytes) == std::bit_cast<Words>(b.bytes);
  }
};

}  // namespace nerve::wire
