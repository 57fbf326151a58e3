// Goal: a thread whose sleeps are short spins for longer, and one that sleeps long does not.
#include "host/runtime/halt_polling.h"

#include <gtest/gtest.h>

namespace nerve::host {
namespace {

using std::chrono::microseconds;

TEST(HaltPolling, SpinsLongerAfterEachShortSleep) {
  HaltPolling polling{16};
  EXPECT_EQ(polling.spin(false), microseconds{20});
  for (const int expected : {40, 80, 160, 200, 200}) {
    polling.slept(microseconds{50});
    EXPECT_EQ(polling.spin(false), microseconds{expected});
  }
}

TEST(HaltPolling, SpinsBrieflyWhenCpusAreFewOrContended) {
  HaltPolling few{2};
  HaltPolling many{16};
  for (int i = 0; i < 5; ++i) few.slept(microseconds{5});
  for (int i = 0; i < 5; ++i) many.slept(microseconds{5});
  EXPECT_EQ(few.spin(false), microseconds{20});
  EXPECT_EQ(many.spin(true), microseconds{20});
}

TEST(HaltPolling, StopsAfterSeveralSpinsInVain) {
  HaltPolling polling{2};
  for (int i = 0; i < 4; ++i) polling.gave_up();
  EXPECT_EQ(polling.spin(false), microseconds{0});
  int tried = 0;
  for (int i = 0; i < 1000; ++i) {
    polling.gave_up();
    if (polling.spin(false) > microseconds{0}) ++tried;
  }
  EXPECT_GT(tried, 20);
  EXPECT_LT(tried, 50);
  polling.found();
  EXPECT_EQ(polling.spin(false), microseconds{20});
}

TEST(HaltPolling, SpinsBrieflyAgainAfterALongSleep) {
  HaltPolling polling{16};
  polling.slept(microseconds{50});
  polling.slept(microseconds{199});
  polling.slept(microseconds{200});
  EXPECT_EQ(polling.spin(false), microseconds{20});
}

}  // namespace
}  // namespace nerve::host
