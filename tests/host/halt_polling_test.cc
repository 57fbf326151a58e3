// Goal: a thread whose sleeps are short stays awake for longer, and one that sleeps long does not.
#include "host/halt_polling.h"

#include <gtest/gtest.h>

namespace nerve::host {
namespace {

using std::chrono::microseconds;

TEST(HaltPolling, SpinsLongerAfterEachShortSleep) {
  HaltPolling polling;
  EXPECT_EQ(polling.spin(), microseconds{20});
  for (const int expected : {40, 80, 160, 200, 200}) {
    polling.slept(microseconds{50});
    EXPECT_EQ(polling.spin(), microseconds{expected});
  }
}

TEST(HaltPolling, IsBriefAgainAfterALongSleep) {
  HaltPolling polling;
  polling.slept(microseconds{50});
  polling.slept(microseconds{199});
  polling.slept(microseconds{200});
  EXPECT_EQ(polling.spin(), microseconds{20});
}

}  // namespace
}  // namespace nerve::host
