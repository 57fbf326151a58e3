// Goal: the reference of the reductions notices a kernel that leaves a block out.
#include <gtest/gtest.h>

#include <array>

#include "base/planted.h"
#include "tests/ai/reference.h"

namespace nerve {
Bug active_bug = Bug::kNone;
}

namespace ai_test {
namespace {

// Whether all elements are as the reference says.
bool right(std::size_t count) {
  std::vector<float> a(count, 1.0F);
  const std::vector<float> b(count, 2.0F);
  const std::array<const void*, 2> both{a.data(), b.data()};
  nerve::ai::combine(DataType::kFloat32, ReduceOp::kSum, a.data(), both, count, 0);
  const auto wanted = static_cast<float>(reduce(DataType::kFloat32, ReduceOp::kSum, {1, 2}, 0));
  for (const float value : a) {
    if (value != wanted) return false;
  }
  return true;
}

TEST(AiPlanted, AReductionThatSkipsAChunkIsNoticed) {
  nerve::active_bug = nerve::Bug::kReductionSkipsChunk;
  EXPECT_FALSE(right(100'000));
  nerve::active_bug = nerve::Bug::kNone;
  EXPECT_TRUE(right(100'000));
}

}  // namespace
}  // namespace ai_test
