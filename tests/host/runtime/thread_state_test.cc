// Goal: a thread that sleeps, one that runs and one that yields can be told apart.
#include "host/runtime/thread_state.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace nerve::host {
namespace {

using std::chrono::milliseconds;

class Worker {
 public:
  template <class Step>
  explicit Worker(Step step)
      : thread_{[this, step] {
          id_ = this_thread();
          while (!stop_) step();
        }} {
    while (id_ == 0) std::this_thread::yield();
  }
  ~Worker() {
    stop_ = true;
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] pid_t id() const { return id_; }

 private:
  std::atomic<bool> stop_{};
  std::atomic<pid_t> id_{};
  std::thread thread_;
};

TEST(ThreadState, ASleepingThreadIsNotRunnable) {
  const Worker sleeper{[] { std::this_thread::sleep_for(milliseconds{50}); }};
  bool asleep = false;
  for (int tries = 0; tries < 1000 && !asleep; ++tries) {
    asleep = !is_runnable(sleeper.id());
    std::this_thread::sleep_for(milliseconds{1});
  }
  EXPECT_TRUE(asleep);
}

TEST(ThreadState, ASpinningThreadIsRunnableAndUsesItsCpu) {
  const Worker spinner{[] {}};
  const Duration before = cpu_time_of(spinner.id());
  Duration after = before;
  for (int tries = 0; tries < 1000 && after - before < milliseconds{2}; ++tries) {
    EXPECT_TRUE(is_runnable(spinner.id()));
    std::this_thread::sleep_for(milliseconds{1});
    after = cpu_time_of(spinner.id());
  }
  EXPECT_GE(after - before, milliseconds{2});
}

TEST(ThreadState, SleepsAndYieldsCountApart) {
  const Switches before = switches_of_this_thread();
  for (int i = 0; i < 10; ++i) std::this_thread::sleep_for(milliseconds{1});
  const Switches slept = switches_of_this_thread();
  EXPECT_GE(slept.asleep - before.asleep, 10);
  for (int i = 0; i < 10; ++i) ::sched_yield();
  EXPECT_EQ(switches_of_this_thread().asleep, slept.asleep);
}

TEST(ThreadState, AThreadThatDoesNotExist) {
  EXPECT_FALSE(is_runnable(0x7fff'ffff));
  EXPECT_EQ(cpu_time_of(0x7fff'fff), Duration{});
}

}  // namespace
}  // namespace nerve::host
