// Goal: strangers who call as fast as they can are accepted at a bounded rate; a few cause no rest.
#include "host/runtime/stranger_limit.h"

#include <gtest/gtest.h>

namespace nerve::host {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(StrangerLimit, RestsAfterManyInARow) {
  StrangerLimit limit;
  Time now{};
  for (std::uint32_t i = 1; i < StrangerLimit::kInARow; ++i) {
    now += microseconds{1};
    ASSERT_FALSE(limit.called(now)) << i;
  }
  EXPECT_EQ(limit.called(now), StrangerLimit::kRest);
  EXPECT_FALSE(limit.called(now + StrangerLimit::kRest)) << "it counts anew";
}

TEST(StrangerLimit, ForgetsStrangersThatCallRarely) {
  StrangerLimit limit;
  Time now{};
  for (int i = 0; i < 1000; ++i) {
    now += StrangerLimit::kForgotten + milliseconds{1};
    ASSERT_FALSE(limit.called(now));
  }
}

// 14 µs apart: 70 000 calls in a second.
TEST(StrangerLimit, BoundsTheRate) {
  StrangerLimit limit;
  Time now{};
  int accepted = 0;
  while (now < Time{} + std::chrono::seconds{1}) {
    now += microseconds{3};  // what accepting one costs
    ++accepted;
    if (const auto rest = limit.called(now)) now += *rest;
  }
  EXPECT_LT(accepted, 32'000);
}

}  // namespace
}  // namespace nerve::host
