// Any bytes are either rejected or decode to a BTH that survives encoding and decoding.
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "wire/bth.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using nerve::wire::Bth;
  const auto bth = Bth::decode(std::as_bytes(std::span{data, size}));
  if (!bth) return 0;
  std::array<std::byte, Bth::kSize> bytes{};
  bth->encode(bytes);
  const auto again = Bth::decode(bytes);
  CHECK(again && *again == *bth);
  return 0;
}
