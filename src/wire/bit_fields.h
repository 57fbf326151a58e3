// Reads and writes fields that are not aligned to bytes, from one description for both directions.
//
// A layout is a function that names each field once: byte, bits to skip in it counted from the most
// significant, width, member. Given a BitReader it fills the members; given a BitWriter it stores
// them.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/bytes.h"
#include "base/check.h"

namespace nerve::wire {

// Numbers, flags and enums are converted as they are, the strong types of base/ids.h by value.
template <class Field>
[[nodiscard]] constexpr std::uint64_t to_bits(const Field& field) {
  if constexpr (std::integral<Field> || std::is_enum_v<Field>) {
    return static_cast<std::uint64_t>(field);
  } else {
    return field.value();
  }
}
template <class Field>
[[nodiscard]] constexpr Field from_bits(std::uint64_t bits) {
  if constexpr (std::integral<Field> || std::is_enum_v<Field>) {
    return static_cast<Field>(bits);
  } else {
    return Field{static_cast<decltype(Field{}.value())>(bits)};
  }
}

class BitReader {
 public:
  explicit BitReader(Bytes in) : in_{in} {}

  template <class Field>
  void bits(std::size_t byte, unsigned skip, unsigned width, Field& field) {
    const unsigned end = skip + width;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i * 8 < end; ++i) {
      value = value << 8U | std::to_integer<std::uint64_t>(in_[byte + i]);
    }
    value >>= (8U - end % 8U) % 8U;
    if (width < 64) value &= (std::uint64_t{1} << width) - 1;
    field = from_bits<Field>(value);
  }
  template <std::size_t N>
  void bytes(std::size_t at, std::array<std::byte, N>& field) {
    for (std::size_t i = 0; i < N; ++i) field[i] = in_[at + i];
  }

 private:
  Bytes in_;
};

// ORs fields into the buffer. The caller starts with zeros, so reserved bits stay zero.
class BitWriter {
 public:
  explicit BitWriter(MutableBytes out) : out_{out} {}

  template <class Field>
  void bits(std::size_t byte, unsigned skip, unsigned width, const Field& field) {
    std::uint64_t value = to_bits(field);
    CHECK(width == 64 || value >> width == 0);
    const unsigned end = skip + width;
    value <<= (8U - end % 8U) % 8U;
    for (std::size_t i = (end + 7) / 8; i-- > 0; value >>= 8U) {
      out_[byte + i] |= static_cast<std::byte>(value & 0xffU);
    }
  }
  template <std::size_t N>
  void bytes(std::size_t at, const std::array<std::byte, N>& field) {
    for (std::size_t i = 0; i < N; ++i) out_[at + i] = field[i];
  }

 private:
  MutableBytes out_;
};

}  // namespace nerve::wire
