#include "tests/ai/reference.h"

#include <cstdint>

namespace ai_test {
namespace {

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

bool is_integer(DataType type) {
  return type == DataType::kInt8 || type == DataType::kUint8 || type == DataType::kInt32 ||
         type == DataType::kInt64;
}

double combine_two(bool single, ReduceOp op, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return NAN;
  double result = a + b;
  if (op == ReduceOp::kProduct) result = a * b;
  if (op == ReduceOp::kMin) result = b < a ? b : a;
  if (op == ReduceOp::kMax) result = a < b ? b : a;
  return single ? static_cast<double>(static_cast<float>(result)) : result;
}

}  // namespace

double load(DataType type, const std::byte* at) {
  switch (type) {
    case DataType::kFloat32:
      return static_cast<double>(read<float>(at));
    case DataType::kFloat64:
      return read<double>(at);
    case DataType::kFloat16:
      return static_cast<double>(to_float(read<nerve::ai::Float16>(at)));
    case DataType::kBfloat16:
      return static_cast<double>(to_float(read<nerve::ai::Bfloat16>(at)));
    case DataType::kInt8:
      return read<std::int8_t>(at);
    case DataType::kUint8:
      return read<std::uint8_t>(at);
    case DataType::kInt32:
      return read<std::int32_t>(at);
    case DataType::kInt64:
      return static_cast<double>(read<std::int64_t>(at));
  }
  return 0;
}

void store(DataType type, std::byte* at, double value) {
  switch (type) {
    case DataType::kFloat32:
      return write(at, static_cast<float>(value));
    case DataType::kFloat64:
      return write(at, value);
    case DataType::kFloat16:
      return write(at, nerve::ai::to_float16(static_cast<float>(value)));
    case DataType::kBfloat16:
      return write(at, nerve::ai::to_bfloat16(static_cast<float>(value)));
    case DataType::kInt8:
      return write(at, static_cast<std::int8_t>(value));
    case DataType::kUint8:
      return write(at, static_cast<std::uint8_t>(value));
    case DataType::kInt32:
      return write(at, static_cast<std::int32_t>(value));
    case DataType::kInt64:
      return write(at, static_cast<std::int64_t>(value));
  }
}

double reduce(DataType type, ReduceOp op, const std::vector<double>& values, double divisor) {
  const bool single = !is_integer(type) && type != DataType::kFloat64;
  double result = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) {
    result = combine_two(single, op, result, values[i]);
  }
  if (op == ReduceOp::kAverage && divisor > 0) {
    result /= divisor;
    if (is_integer(type)) result = std::trunc(result);
    if (single) result = static_cast<double>(static_cast<float>(result));
  }
  std::byte rounded[8];
  store(type, rounded, result);
  return load(type, rounded);
}

}  // namespace ai_test
