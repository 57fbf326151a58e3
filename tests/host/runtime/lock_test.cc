// Goal: the lock excludes, and a waiting thread gets it soon, however hard others use it.
#include "host/runtime/lock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace nerve::host {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Lock, ExcludesOtherThreads) {
  constexpr int kThreads = 8;
  constexpr int kTimes = 20'000;
  Lock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kTimes; ++n) {
        const std::scoped_lock guard{lock};
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTimes);
}

TEST(Lock, TryLockFailsWhileItIsHeld) {
  Lock lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// Threads that take either lock, spin or sleep on it while the two are joined.
TEST(Lock, JoinedLocksExcludeEachOther) {
  constexpr int kTimes = 2'000;
  for (int round = 0; round < 20; ++round) {
    Lock first, second;
    std::atomic<int> inside{};
    std::atomic<bool> joined{};
    std::atomic<int> together{};
    const auto use = [&](Lock& lock) {
      for (int n = 0; n < kTimes; ++n) {
        if (n % 3 == 0) {
          while (!lock.try_lock()) std::this_thread::yield();
        } else {
          lock.lock();
        }
        if (++inside > 1 && joined) ++together;
        --inside;
        lock.unlock();
      }
    };
    std::vector<std::thread> threads;
    for (Lock* lock : {&first, &second, &first, &second}) {
      threads.emplace_back([&use, lock] { use(*lock); });
    }
    first.lock();
    second.lock();
    second.join(first);
    joined = true;
    first.unlock();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(together, 0);
    ASSERT_TRUE(first.try_lock());
    EXPECT_FALSE(second.try_lock());
    second.unlock();
  }
}

// Threads that release the lock and take it again at once leave no gap for a sleeper, so the lock
// is handed to it.
TEST(Lock, IsHandedToASleeper) {
  constexpr int kGreedy = 4;
  constexpr int kTimes = 50;
  Lock lock;
  std::atomic<bool> done{};
  std::vector<std::thread> greedy;
  for (int i = 0; i < kGreedy; ++i) {
    greedy.emplace_back([&] {
      while (!done) {
        const std::scoped_lock guard{lock};
        const auto until = Clock::now() + std::chrono::microseconds{200};
        while (Clock::now() < until) {
        }
      }
    });
  }
  Clock::duration longest{};
  for (int n = 0; n < kTimes; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    const auto start = Clock::now();
    const std::scoped_lock guard{lock};
    longest = std::max(longest, Clock::now() - start);
  }
  done = true;
  for (std::thread& thread : greedy) thread.join();
  EXPECT_LT(longest, std::chrono::seconds{1});
}

}  // namespace
}  // namespace nerve::host
