// Goal: CPUs are contended if polling threads are preempted repeatedly, not if one is once; and the
// finding lasts longer each time it is made again.
#include "host/runtime/contention.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "host/runtime/clock.h"

namespace nerve::host {
namespace {

using std::chrono::milliseconds;

constexpr Time kStart{std::chrono::hours{1}};

TEST(Contention, OnePreemptionIsNotContention) {
  Contention contention;
  for (int i = 0; i < 20; ++i) {
    const Time at = kStart + i * milliseconds{30};
    contention.saw_preemptions(1, at);
    EXPECT_FALSE(contention.present(at)) << i;
  }
}

TEST(Contention, TwoPreemptionsInAShortTimeAreContention) {
  Contention contention;
  contention.saw_preemptions(1, kStart);
  contention.saw_preemptions(1, kStart + milliseconds{10});
  EXPECT_TRUE(contention.present(kStart + milliseconds{10}));
  EXPECT_TRUE(contention.present(kStart + milliseconds{109}));
  EXPECT_FALSE(contention.present(kStart + milliseconds{111}));
}

TEST(Contention, LastsLongerWhenFoundAgain) {
  Contention contention;
  Time at = kStart;
  Duration last{};
  contention.saw_preemptions(1, at);
  for (const int expected : {100, 200, 400, 800, 1600, 1600}) {
    contention.saw_preemptions(1, at);
    const Time begin = at;
    while (contention.present(at)) at += milliseconds{1};
    EXPECT_EQ(at - begin, milliseconds{expected});
    last = at - begin;
    at += milliseconds{5};
  }
  at += 2 * last;
  contention.saw_preemptions(1, at);
  EXPECT_FALSE(contention.present(at)) << "that was another time";
  contention.saw_preemptions(1, at);
  EXPECT_TRUE(contention.present(at + milliseconds{99}));
  EXPECT_FALSE(contention.present(at + milliseconds{101}));
}

TEST(Contention, FurtherPreemptionsProlongIt) {
  Contention contention;
  for (int i = 0; i < 100; ++i) {
    const Time at = kStart + i * milliseconds{10};
    contention.saw_preemptions(1, at);
    if (i > 0) {
      EXPECT_TRUE(contention.present(at)) << i;
    }
  }
}

// Two threads that never yield, on one CPU.
TEST(Contention, ThreadsThatShareACpuArePreempted) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> over{};
  std::thread other{[&] {
    while (!over) {
    }
  }};
  (void)new_preemptions(now());  // count from here on
  std::uint64_t switches = 0;
  const Time limit = now() + std::chrono::seconds{20};
  while (switches < 2 && now() < limit) switches += new_preemptions(now());
  over = true;
  other.join();
  EXPECT_GE(switches, 2U);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace nerve::host
