#include "seal/header.h"

namespace nerve::seal {

std::optional<Header> Header::decode(std::span<const std::byte, kSize> in) {
  const auto first = std::to_integer<unsigned>(in[0]);
  const unsigned kind = first & 0xfU;
  if (first >> 4U != kVersion || kind > static_cast<unsigned>(Kind::kDatagram)) return std::nullopt;
  if (load_be<2>(in, 2) != 0) return std::nullopt;
  return Header{.kind = static_cast<Kind>(kind),
                .epoch = std::to_integer<std::uint8_t>(in[1]),
                .spi = static_cast<std::uint32_t>(load_be<4>(in, 4)),
                .counter = load_be<8>(in, 8)};
}

void Header::encode(std::span<std::byte, kSize> out) const {
  out[0] = static_cast<std::byte>(kVersion << 4U | static_cast<unsigned>(kind));
  out[1] = std::byte{epoch};
  store_be<2>(out, 2, 0);
  store_be<4>(out, 4, spi);
  store_be<8>(out, 8, counter);
}

}  // namespace nerve::seal
