#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace nerve {
namespace {

using std::chrono::days;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kInterval = milliseconds{10};
constexpr std::uint32_t kBurst = 4;

int taken(TokenBucket& bucket, int attempts, Time now) {
  int count = 0;
  for (int i = 0; i < attempts; ++i) count += bucket.take(kInterval, kBurst, now) ? 1 : 0;
  return count;
}

TEST(TokenBucket, AdmitsABurstAndThenOnePerInterval) {
  for (const Time begin : {Time{}, Time{} - microseconds{5}, Time{} + days{50} + days{50}}) {
    TokenBucket bucket;
    EXPECT_EQ(taken(bucket, 100, begin), 4);
    EXPECT_FALSE(bucket.has_token(kInterval, kBurst, begin));
    int count = 0;
    for (int i = 1; i <= 1000; ++i) count += taken(bucket, 1, begin + i * milliseconds{1});
    EXPECT_EQ(count, 100);
  }
}

TEST(TokenBucket, IsFullAgainAfterAPause) {
  TokenBucket bucket;
  EXPECT_EQ(taken(bucket, 100, Time{}), 4);
  EXPECT_EQ(taken(bucket, 100, Time{} + milliseconds{20}), 2);
  EXPECT_EQ(taken(bucket, 100, Time{} + milliseconds{500}), 4);
  // Half of the ring of Time later, the instant of the last use seems to be ahead.
  EXPECT_EQ(taken(bucket, 100, Time{} + days{55} + days{55}), 4);
}

TEST(TokenBucket, AskingTakesNothing) {
  TokenBucket bucket;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(bucket.has_token(kInterval, kBurst, Time{}));
  EXPECT_EQ(taken(bucket, 10, Time{}), 4);
}

TEST(TokenBucket, WithoutAnIntervalAdmitsAll) {
  TokenBucket bucket;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(bucket.take({}, 1, Time{}));
}

}  // namespace
}  // namespace nerve
