// The header of a sealed packet, between its BTH and its ciphertext (docs/wire-seal.md).
//
//    0        version:4  kind:4
//    1        epoch
//    2..3     zero
//    4..7     SPI: chosen by the receiver, names its keys
//    8..15    counter
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/opcode.h"

namespace nerve::seal {

// In the range that IBTA leaves to manufacturers: receivers that do not know it drop the packet.
inline constexpr wire::Opcode kSealedOpcode = 0xd5;

enum class Kind : std::uint8_t {
  kData = 0,
  kCall = 1,    // the first message of the handshake
  kAnswer = 2,  // the second
  kInvite = 3,  // asks the peer to call
  kDatagram = 4,
};

struct Header {
  static constexpr std::size_t kSize = 16;
  static constexpr std::uint8_t kVersion = 1;

  Kind kind{};
  std::uint8_t epoch{};
  std::uint32_t spi{};
  std::uint64_t counter{};
  friend bool operator==(const Header&, const Header&) = default;

  // Nothing if it has another version, an unknown kind, or reserved bits.
  [[nodiscard]] static std::optional<Header> decode(std::span<const std::byte, kSize> in);
  void encode(std::span<std::byte, kSize> out) const;
};

}  // namespace nerve::seal
