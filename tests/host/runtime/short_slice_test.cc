// Goal: asking for a short slice changes nothing else about a thread.
#include "host/runtime/short_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <thread>

namespace nerve::host {

TEST(ShortSlice, KeepsThePolicyAndThePriority) {
  std::thread{[] {
    ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, 3), 0);  // of this thread alone, on Linux
    ask_for_short_slice();
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), 3);
    EXPECT_EQ(::sched_getscheduler(0), SCHED_OTHER);
  }}.join();
}

TEST(ShortSlice, LeavesAnotherPolicyAlone) {
  std::thread{[] {
    const sched_param none{};
    ASSERT_EQ(::sched_setscheduler(0, SCHED_BATCH, &none), 0);
    ask_for_short_slice();
    EXPECT_EQ(::sched_getscheduler(0), SCHED_BATCH);
  }}.join();
}

}  // namespace nerve::host
