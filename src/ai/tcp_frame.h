// The frames of the TCP transport: 32 bytes of header, then the data of a put or of an answer.
//
//   0  kind            1 byte: put, notifying put, get, answer
//   1  reserved        3 bytes, zero
//   4  immediate       of a notifying put
//   8  address         where the data goes to, or comes from; of an answer: the id of its get
//  16  length          of the data, or of the data asked for
//  24  key             of the memory, as the peer announced it
//  28  id              of a get: returned in its answer
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace nerve::ai {

struct TcpFrame {
  static constexpr std::size_t kSize = 32;
  enum class Kind : std::uint8_t { kPut = 1, kNotifyingPut = 2, kGet = 3, kAnswer = 4 };

  Kind kind{};
  std::uint32_t immediate{};
  std::uint64_t address{};
  std::uint64_t length{};
  std::uint32_t key{};
  std::uint32_t id{};

  void encode(MutableBytes out) const {
    store_be<4>(out, 0, static_cast<std::uint64_t>(kind) << 24);
    store_be<4>(out, 4, immediate);
    store_be<8>(out, 8, address);
    store_be<8>(out, 16, length);
    store_be<4>(out, 24, key);
    store_be<4>(out, 28, id);
  }
  static TcpFrame decode(Bytes in) {
    return {.kind = static_cast<Kind>(load_be<1>(in, 0)),
            .immediate = static_cast<std::uint32_t>(load_be<4>(in, 4)),
            .address = load_be<8>(in, 8),
            .length = load_be<8>(in, 16),
            .key = static_cast<std::uint32_t>(load_be<4>(in, 24)),
            .id = static_cast<std::uint32_t>(load_be<4>(in, 28))};
  }
  [[nodiscard]] bool carries_data() const { return kind != Kind::kGet; }
};

}  // namespace nerve::ai
