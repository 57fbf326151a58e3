// Management datagrams: the 24 bytes that open every MAD (IBTA vol. 1, 13.4).
//
//    0        base version
//    1        management class
//    2        class version
//    3        response:1  method:7
//    4..5     status
//    6..7     class specific
//    8..15    transaction id
//   16..17    attribute id
//   18..19    reserved
//   20..23    attribute modifier
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/wire_error.h"

namespace nerve::wire {

inline constexpr std::size_t kMadSize = 256;
inline constexpr std::uint8_t kMadBaseVersion = 1;

struct MadHeader {
  static constexpr std::size_t kSize = 24;

  std::uint8_t base_version{kMadBaseVersion};
  std::uint8_t management_class{};
  std::uint8_t class_version{};
  bool response{};
  std::uint8_t method{};  // 7 bits
  std::uint16_t status{};
  std::uint16_t class_specific{};
  std::uint64_t transaction_id{};
  std::uint16_t attribute_id{};
  std::uint32_t attribute_modifier{};

  static Result<MadHeader, WireError> decode(Bytes in);
  void encode(std::span<std::byte, kSize> out) const;
  friend bool operator==(const MadHeader&, const MadHeader&) = default;
};

}  // namespace nerve::wire
