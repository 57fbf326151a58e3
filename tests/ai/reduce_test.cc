// Goal: the reduction kernels agree with a plain reference for every type and operation.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

#include "base/prng.h"
#include "tests/ai/reference.h"

namespace ai_test {
namespace {

using nerve::ai::combine;
using nerve::ai::kDataTypes;
using nerve::ai::kReduceOps;

bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

// Small integers: exact in every type, in sums and products of three.
double small_value(std::size_t k, std::size_t i) {
  return static_cast<double>((k * 5 + i * 3) % 5);
}

// `offset` bytes before each contribution, so that no element is aligned.
std::string compare(DataType type, ReduceOp op, std::size_t count, std::size_t offset,
                    const std::function<double(std::size_t, std::size_t)>& value_of) {
  constexpr std::size_t kContributions = 3;
  const std::size_t size = nerve::ai::size_of(type);
  std::array<std::vector<std::byte>, kContributions> memory;
  std::array<const void*, kContributions> all{};
  for (std::size_t k = 0; k < kContributions; ++k) {
    memory[k].resize(offset + count * size);
    for (std::size_t i = 0; i < count; ++i) {
      store(type, memory[k].data() + offset + i * size, value_of(k, i));
    }
    all[k] = memory[k].data() + offset;
  }
  std::vector<double> wanted;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> values;
    for (const void* one : all) {
      values.push_back(load(type, static_cast<const std::byte*>(one) + i * size));
    }
    wanted.push_back(reduce(type, op, values, kContributions));
  }
  std::byte* out = memory[1].data() + offset;  // over one of the contributions
  combine(type, op, out, all, count, kContributions);
  for (std::size_t i = 0; i < count; ++i) {
    const double got = load(type, out + i * size);
    if (same(got, wanted[i])) continue;
    return std::string{name_of(type)} + " " + std::string{name_of(op)} + " of " +
           std::to_string(count) + ": element " + std::to_string(i) + " is " + std::to_string(got) +
           " and should be " + std::to_string(wanted[i]);
  }
  return "";
}

TEST(Reduce, AgreesWithTheReferenceForAllTypesAndLengths) {
  for (int type = 0; type < kDataTypes; ++type) {
    for (int op = 0; op < kReduceOps; ++op) {
      for (const std::size_t count : {0U, 1U, 7U, 255U, 256U, 257U, 1023U}) {
        for (const std::size_t offset : {0U, 1U}) {
          EXPECT_EQ(compare(static_cast<DataType>(type), static_cast<ReduceOp>(op), count, offset,
                            small_value),
                    "");
        }
      }
    }
  }
}

TEST(Reduce, AgreesWithTheReferenceForSpecialFloats) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  // NaN, infinities, zeros, denormals of each format, and values that overflow some of them.
  const std::array<double, 13> special{NAN,   kInf,   -kInf,  0.0,  -0.0, 6e-8, 1e-7,
                                       1e-40, 65504., 70000., 1e30, 0.1,  -2.5};
  nerve::Prng prng{7};
  for (const DataType type :
       {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kBfloat16}) {
    for (int op = 0; op < kReduceOps; ++op) {
      EXPECT_EQ(compare(type, static_cast<ReduceOp>(op), 600, 0,
                        [&](std::size_t, std::size_t) { return special[prng.next() % 13]; }),
                "");
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  using nerve::ai::to_bfloat16;
  using nerve::ai::to_float16;
  EXPECT_EQ(to_float16(1.0F).bits, 0x3c00);
  EXPECT_EQ(to_float16(-2.0F).bits, 0xc000);
  EXPECT_EQ(to_float16(65504.0F).bits, 0x7bff);
  EXPECT_EQ(to_float16(65519.0F).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(to_float16(5.9604645e-8F).bits, 0x0001);
  EXPECT_EQ(to_float16(2.9802322e-8F).bits, 0x0000);  // half of the smallest: to even
  EXPECT_EQ(to_float16(1.00048828125F).bits, 0x3c00);
  EXPECT_EQ(to_float16(1.00146484375F).bits, 0x3c02);
  EXPECT_EQ(to_bfloat16(1.0F).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(1.00390625F).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(1.01171875F).bits, 0x3f82);
  EXPECT_EQ(to_bfloat16(NAN).bits & 0x7fc0, 0x7fc0);
}

TEST(Half, EveryFloat16SurvivesAConversionToFloatAndBack) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const nerve::ai::Float16 value{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(value);
    if (std::isnan(wide)) continue;
    ASSERT_EQ(nerve::ai::to_float16(wide).bits, bits);
  }
}

}  // namespace
}  // namespace ai_test
