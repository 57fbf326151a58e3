// Goal: a thread that polls in vain while CPUs are contended sleeps, and is woken by a completion
// on any CQ that it polls. NERVE_POLLING=sleep simulates contention.
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Reached only on failure.
constexpr std::chrono::seconds kPatience{120};

// Completed requests that were not polled yet: fewer than a queue holds.
constexpr int kMostAhead = 4;

class SleepingPolls : public Pair {
 protected:
  void SetUp() override {
    ::setenv("NERVE_POLLING", "sleep", 1);
    Pair::SetUp();
  }

  bool send(End& end, std::uint64_t wr_id) {
    ibv_sge sge = end.sge(64);
    ibv_send_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad{};
    return ibv_post_send(end.qp, &wr, &bad) == 0;
  }
  bool receive(End& end) {
    ibv_sge sge = end.sge(64, 64);
    return post_recv(end, 0, &sge, 1) == 0;
  }
  // Waits until this many completions were seen, on any of the CQs.
  static bool wait_for(std::initializer_list<ibv_cq*> cqs, int count) {
    const auto limit = Clock::now() + kPatience;
    while (count > 0) {
      for (ibv_cq* cq : cqs) {
        ibv_wc wc{};
        const int found = ibv_poll_cq(cq, 1, &wc);
        if (found < 0 || (found > 0 && wc.status != IBV_WC_SUCCESS)) return false;
        count -= found;
      }
      if (Clock::now() > limit) return false;
    }
    return true;
  }
};

TEST_F(SleepingPolls, LeaveTheCpuToOtherThreads) {
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 1) {
    GTEST_SKIP() << "the tests before have read the configuration";
  }
  const auto processor_time = [] {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
  };
  constexpr milliseconds kFor{300};
  const auto before = processor_time();
  ibv_wc wc{};
  for (const auto end = Clock::now() + kFor; Clock::now() < end;) {
    ASSERT_EQ(ibv_poll_cq(a.cq, 1, &wc), 0);
  }
  EXPECT_LT(processor_time() - before, kFor / 2);
}

TEST_F(SleepingPolls, AreWokenByAPostOfAnotherThread) {
  constexpr int kRounds = 300;
  std::atomic<int> seen{};
  std::thread waits{[&] {
    for (int i = 0; i < kRounds && wait_for({a.cq}, 1); ++i) ++seen;
  }};
  const auto limit = Clock::now() + kPatience;
  for (int i = 0; i < kRounds; ++i) {
    if (!receive(b) || !send(a, 1) || !wait_for({b.cq}, 1)) break;
    while (seen + kMostAhead < i && Clock::now() < limit) std::this_thread::yield();
  }
  waits.join();
  EXPECT_EQ(seen, kRounds);
}

// Each thread has to notice both CQs, one of which is quiet most of the time.
TEST_F(SleepingPolls, OfSeveralCqsMissNoCompletion) {
  constexpr int kRounds = 300;
  ibv_cq* const quiet = ibv_create_cq(context, 16, nullptr, nullptr, 0);
  ASSERT_NE(quiet, nullptr);
  std::atomic<bool> ok{true};
  std::thread peer{[&] {
    for (int i = 0; i < kRounds && ok; ++i) {
      if (!wait_for({quiet, b.cq}, 1) || !receive(b) || !send(b, 2)) ok = false;
      if (!wait_for({b.cq, quiet}, 1)) ok = false;
    }
  }};
  ASSERT_TRUE(receive(b));
  for (int i = 0; i < kRounds && ok; ++i) {
    if (!receive(a) || !send(a, 1) || !wait_for({quiet, a.cq}, 2)) ok = false;
  }
  peer.join();
  EXPECT_TRUE(ok);
  EXPECT_EQ(ibv_destroy_cq(quiet), 0);
}

// More threads than there is work for: one listens, the others are woken.
TEST_F(SleepingPolls, OfManyThreadsAllMakeProgress) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 200;
  std::atomic<int> left{kThreads * kRounds};
  std::atomic<bool> ok{true};
  std::vector<std::thread> pollers;
  for (int i = 0; i < kThreads; ++i) {
    pollers.emplace_back([&] {
      while (left > 0 && ok) {
        ibv_wc wc{};
        const int found = ibv_poll_cq(a.cq, 1, &wc);
        if (found < 0 || (found > 0 && wc.status != IBV_WC_SUCCESS)) ok = false;
        left -= found;
      }
    });
  }
  const auto limit = Clock::now() + kPatience;
  for (int i = 0; i < kThreads * kRounds && ok; ++i) {
    if (!receive(b) || !send(a, 1) || !wait_for({b.cq}, 1)) ok = false;
    while (left > kThreads * kRounds - i + kMostAhead && Clock::now() < limit) {
      std::this_thread::yield();
    }
  }
  while (left > 0 && Clock::now() < limit) std::this_thread::yield();
  if (left > 0) ok = false;
  for (std::thread& poller : pollers) poller.join();
  EXPECT_TRUE(ok);
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace verbs_test
