#include "wire/crc32.h"

#include <array>
#include <cstring>

#include "base/check.h"

namespace nerve::wire {
namespace {

constexpr auto kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c & 1U) != 0 ? 0xedb88320U ^ (c >> 1U) : c >> 1U;
    table[i] = c;
  }
  return table;
}();

}  // namespace

std::uint32_t crc32(std::uint32_t state, Octets data) {
  for (const std::byte b : data) {
    state = kTable[(state ^ static_cast<std::uint32_t>(b)) & 0xffU] ^ (state >> 8U);
  }
  return state;
}

std::uint32_t crc32_copy(std::uint32_t state, MutableOctets to, Octets from) {
  CHECK(to.size() >= from.size());
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  return crc32(state, from);
}

}  // namespace nerve::wire
