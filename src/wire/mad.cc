#include "wire/mad.h"

namespace nerve::wire {
namespace {
constexpr unsigned kResponseBit = 0x80, kMethodMask = 0x7f;
}  // namespace

Result<MadHeader, WireError> MadHeader::decode(Bytes in) {
  if (in.size() < kSize) return Unexpected{WireError::kTruncated};
  const auto method = static_cast<unsigned>(in[3]);
  return MadHeader{
      .base_version = static_cast<std::uint8_t>(in[0]),
      .management_class = static_cast<std::uint8_t>(in[1]),
      .class_version = static_cast<std::uint8_t>(in[2]),
      .response = (method & kResponseBit) != 0,
      .method = static_cast<std::uint8_t>(method & kMethodMask),
      .status = static_cast<std::uint16_t>(load_be<2>(in, 4)),
      .class_specific = static_cast<std::uint16_t>(load_be<2>(in, 6)),
      .transaction_id = load_be<8>(in, 8),
      .attribute_id = static_cast<std::uint16_t>(load_be<2>(in, 16)),
      .attribute_modifier = static_cast<std::uint32_t>(load_be<4>(in, 20)),
  };
}

void MadHeader::encode(std::span<std::byte, kSize> out) const {
  CHECK(method <= kMethodMask);
  out[0] = std::byte{base_version};
  out[1] = std::byte{management_class};
  out[2] = std::byte{class_version};
  out[3] = static_cast<std::byte>((response ? kResponseBit : 0) | method);
  store_be<2>(out, 4, status);
  store_be<2>(out, 6, class_specific);
  store_be<8>(out, 8, transaction_id);
  store_be<2>(out, 16, attribute_id);
  store_be<2>(out, 18, 0);
  store_be<4>(out, 20, attribute_modifier);
}

}  // namespace nerve::wire
