// Goal: a thread whose sleeps are short stays awake for longer, and one that sleeps long does not.
#include "host/halt_polling.h"

#include <gtest/gtest.h>

namespace nerve::host {
namespace {

using std::chrono::microseconds;

TEST(HaltPolling, SpinsLongerAfterEachShortSleep) {
  HaltPolling polling{16};
  EXPECT_EQ(polling.spin(), microseconds{20});
  for (const int expected : {40, 80, 160, 200, 200}) {
    polling.slept(microseconds{50});
    EXPECT_EQ(polling.spin(), microseconds{expected});
  }
}

TEST(HaltPolling, IsBriefWhereThereAreFewCpus) {
  HaltPolling polling{2};
  for (int i = 0; i < 5; ++i) polling.slept(microseconds{5});
  EXPECT_EQ(polling.spin(), microseconds{20});
}

TEST(HaltPolling, IsBriefAgainAfterALongSleep) {
  HaltPolling polling{16};
  polling.slept(microseconds{50});
  polling.slept(microseconds{199});
  polling.slept(microseconds{200});
  EXPECT_EQ(polling.spin(), microseconds{20});
}

}  // namespace
}  // namespace nerve::host
