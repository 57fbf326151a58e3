// Goal: a crowd is more polling threads than CPUs, and ends when they stop.
#include "host/runtime/crowd.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <barrier>
#include <mutex>
#include <thread>
#include <vector>

namespace nerve::host {
namespace {

constexpr Time kStart{std::chrono::hours{1}};
constexpr Duration kLong = std::chrono::seconds{1};

// Pins this thread and those it starts to one CPU.
class OneProcessor {
 public:
  OneProcessor() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  ~OneProcessor() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_{};
};

// Several threads, because the hash may give two of them the same bit; all alive at once, or the
// next would reuse the memory of the last one, and so its bit.
void poll_from_other_threads(Crowd& crowd, Time now) {
  constexpr int kThreads = 8;
  std::barrier together{kThreads};
  std::mutex lock;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      {
        const std::scoped_lock guard{lock};
        crowd.saw_poller(now);
      }
      together.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Crowd, OneThreadIsNotACrowd) {
  const OneProcessor one;
  Crowd crowd;
  for (int i = 0; i < 1000; ++i) {
    crowd.saw_poller(kStart + i * std::chrono::milliseconds{1});
    ASSERT_FALSE(crowd.crowded());
  }
}

// As in a program that pins each of its threads to its own CPU.
TEST(Crowd, ThreadsWithACpuEachAreNotACrowd) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one processor only";
  Crowd crowd;
  std::vector<std::thread> threads;
  std::mutex lock;
  std::barrier together{2};
  for (int cpu = 0; threads.size() < 2; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    threads.emplace_back([&, cpu] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ::sched_setaffinity(0, sizeof one, &one);
      together.arrive_and_wait();
      const std::scoped_lock guard{lock};
      crowd.saw_poller(kStart);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(crowd.crowded());
}

TEST(Crowd, MoreThreadsThanCpusAreACrowdUntilTheyStop) {
  const OneProcessor one;
  Crowd crowd;
  poll_from_other_threads(crowd, kStart);
  EXPECT_TRUE(crowd.crowded());
  crowd.saw_poller(kStart + kLong);
  EXPECT_TRUE(crowd.crowded()) << "seen in the last period";
  crowd.saw_poller(kStart + 2 * kLong);
  EXPECT_FALSE(crowd.crowded());
}

}  // namespace
}  // namespace nerve::host
