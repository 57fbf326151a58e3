// Conversion between float and the two 16-bit formats, with round to nearest even. Written without
// branches on the value where that lets the compiler vectorise a loop of them.
#pragma once

#include <bit>
#include <cstdint>

namespace nerve::ai {

struct Float16 {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

inline float to_float(Bfloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

inline Bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return {static_cast<std::uint16_t>((nan ? (bits | 0x400000U) : rounded) >> 16)};
}

#if defined(__aarch64__)
// The processor converts; a Float16 is the same bits as its __fp16.
inline float to_float(Float16 value) {
  return static_cast<float>(std::bit_cast<__fp16>(value.bits));
}
inline Float16 to_float16(float value) {
  return {std::bit_cast<std::uint16_t>(static_cast<__fp16>(value))};
}
#else
inline float to_float(Float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t rest = value.bits & 0x7fffU;
  // Moved into the places of a float, the exponent is 112 too small; a multiplication corrects it
  // for subnormal numbers as well.
  const float scaled = std::bit_cast<float>(rest << 13) * std::bit_cast<float>(0x77800000U);
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(scaled);
  // A signalling NaN becomes a quiet one, as the processors do it.
  const std::uint32_t quiet = rest > 0x7c00U ? 0x400000U : 0U;
  const std::uint32_t special = 0x7f800000U | (rest << 13) | quiet;
  return std::bit_cast<float>(sign | (rest >= 0x7c00U ? special : finite));
}

inline Float16 to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t rest = bits & 0x7fffffffU;
  const std::uint32_t nan = 0x7e00U | ((rest >> 13) & 0x3ffU);
  // Adding this power of two lets the addition round a subnormal result.
  const float anchored = std::bit_cast<float>(rest) + 0.5F;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(anchored) - 0x3f000000U;
  const std::uint32_t normal = (rest - 0x38000000U + 0xfffU + ((rest >> 13) & 1U)) >> 13;
  std::uint32_t result = normal;
  if (rest < 0x38800000U) result = subnormal;
  if (rest >= 0x477ff000U) result = 0x7c00U;
  if (rest > 0x7f800000U) result = nan;
  return {static_cast<std::uint16_t>(sign | result)};
}
#endif

}  // namespace nerve::ai
