#include "ai/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ai/half.h"
#include "base/planted.h"

namespace nerve::ai {
namespace {

// Blocks that stay in the first-level cache while all contributions are added to them. Their fixed
// size and local accumulator are what lets the compiler vectorise: no pointers can overlap.
constexpr std::size_t kBlock = 256;

template <class T>
struct Wide {  // the type that elements are combined in
  using Type = T;
};
template <>
struct Wide<Float16> {
  using Type = float;
};
template <>
struct Wide<Bfloat16> {
  using Type = float;
};

template <class T>
typename Wide<T>::Type widen(T value) {
  if constexpr (std::is_class_v<T>) {
    return to_float(value);
  } else {
    return value;
  }
}

template <class T>
T narrow(typename Wide<T>::Type value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(value);
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return to_bfloat16(value);
  } else {
    return value;
  }
}

template <ReduceOp kOp, class W>
W apply(W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    // Unsigned, and not shorter than int: wraps without undefined behaviour.
    using U = std::conditional_t<(sizeof(W) < 4), unsigned, std::make_unsigned_t<W>>;
    if constexpr (kOp == ReduceOp::kProduct)
      return static_cast<W>(static_cast<U>(a) * static_cast<U>(b));
    if constexpr (kOp == ReduceOp::kMin) return b < a ? b : a;
    if constexpr (kOp == ReduceOp::kMax) return a < b ? b : a;
    return static_cast<W>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    if constexpr (kOp == ReduceOp::kProduct) return a * b;
    // `a != a` keeps a NaN of a; a comparison with a NaN of b is false, which takes b.
    if constexpr (kOp == ReduceOp::kMin) return (a <= b || a != a) ? a : b;
    if constexpr (kOp == ReduceOp::kMax) return (a >= b || a != a) ? a : b;
    return a + b;
  }
}

template <class T>
T load(const std::byte* from, std::size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

// One block of `kCount` elements, or of `count` if kCount is 0.
template <class T, ReduceOp kOp, std::size_t kCount>
void combine_block(std::byte* out, std::span<const void* const> from, std::size_t at,
                   std::size_t count, std::size_t divisor) {
  using W = typename Wide<T>::Type;
  const std::size_t n = kCount != 0 ? kCount : count;
  const auto block_of = [&](std::size_t k) {
    return static_cast<const std::byte*>(from[k]) + at * sizeof(T);
  };
  std::array<W, kBlock> sum;
  const std::byte* first = block_of(0);
  for (std::size_t i = 0; i < n; ++i) sum[i] = widen(load<T>(first, i));
  for (std::size_t k = 1; k < from.size(); ++k) {
    const std::byte* next = block_of(k);
    for (std::size_t i = 0; i < n; ++i) sum[i] = apply<kOp, W>(sum[i], widen(load<T>(next, i)));
  }
  if constexpr (kOp == ReduceOp::kAverage) {
    if (divisor != 0) {
      const W by = static_cast<W>(divisor);
      for (std::size_t i = 0; i < n; ++i) sum[i] = static_cast<W>(sum[i] / by);
    }
  }
  std::array<T, kBlock> result;
  for (std::size_t i = 0; i < n; ++i) result[i] = narrow<T>(sum[i]);
  std::memcpy(out + at * sizeof(T), result.data(), n * sizeof(T));
}

template <class T, ReduceOp kOp>
void combine_all(void* out, std::span<const void* const> from, std::size_t count,
                 std::size_t divisor) {
  auto* to = static_cast<std::byte*>(out);
  std::size_t at = 0;
  for (; at + kBlock <= count; at += kBlock) {
    if (planted(Bug::kReductionSkipsChunk) && at != 0) continue;
    combine_block<T, kOp, kBlock>(to, from, at, kBlock, divisor);
  }
  if (at < count) combine_block<T, kOp, 0>(to, from, at, count - at, divisor);
}

template <class T>
void combine_type(ReduceOp op, void* out, std::span<const void* const> from, std::size_t count,
                  std::size_t divisor) {
  switch (op) {
    case ReduceOp::kSum:
      return combine_all<T, ReduceOp::kSum>(out, from, count, divisor);
    case ReduceOp::kProduct:
      return combine_all<T, ReduceOp::kProduct>(out, from, count, divisor);
    case ReduceOp::kMin:
      return combine_all<T, ReduceOp::kMin>(out, from, count, divisor);
    case ReduceOp::kMax:
      return combine_all<T, ReduceOp::kMax>(out, from, count, divisor);
    case ReduceOp::kAverage:
      return combine_all<T, ReduceOp::kAverage>(out, from, count, divisor);
  }
}

}  // namespace

void combine(DataType type, ReduceOp op, void* out, std::span<const void* const> contributions,
             std::size_t count, std::size_t divisor) {
  switch (type) {
    case DataType::kFloat32:
      return combine_type<float>(op, out, contributions, count, divisor);
    case DataType::kFloat64:
      return combine_type<double>(op, out, contributions, count, divisor);
    case DataType::kFloat16:
      return combine_type<Float16>(op, out, contributions, count, divisor);
    case DataType::kBfloat16:
      return combine_type<Bfloat16>(op, out, contributions, count, divisor);
    case DataType::kInt8:
      return combine_type<std::int8_t>(op, out, contributions, count, divisor);
    case DataType::kUint8:
      return combine_type<std::uint8_t>(op, out, contributions, count, divisor);
    case DataType::kInt32:
      return combine_type<std::int32_t>(op, out, contributions, count, divisor);
    case DataType::kInt64:
      return combine_type<std::int64_t>(op, out, contributions, count, divisor);
  }
}

}  // namespace nerve::ai
