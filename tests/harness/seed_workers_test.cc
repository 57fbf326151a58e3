// Goal: each seed of a plan is tried once, whatever the number of workers, and a seed that fails,
// crashes or hangs is reported while the others continue.
#include "tests/seeds/workers.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <span>

namespace nerve::test {
namespace {

using std::chrono::milliseconds;

// Counts how often each seed was tried, across all workers.
class Tally {
 public:
  explicit Tally(std::size_t size)
      : counts_{static_cast<Count*>(mmap(nullptr, size * sizeof(Count), PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
                size} {}
  ~Tally() { munmap(counts_.data(), counts_.size_bytes()); }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;
  std::atomic<std::uint32_t>& operator[](std::size_t seed) { return counts_[seed]; }

 private:
  using Count = std::atomic<std::uint32_t>;
  std::span<Count> counts_;
};

TEST(SeedWorkers, EachSeedOnceWhateverTheirNumber) {
  for (const std::uint64_t jobs : {1, 2, 7, 64}) {
    const SeedPlan plan{.first = 101, .last = 1100, .jobs = jobs};
    Tally tally{1200};
    const SeedRun run = run_in_workers(plan, {.passes = [&](std::uint64_t seed) {
                                         ++tally[seed];
                                         return true;
                                       }});
    EXPECT_EQ(run.tried, 1000U);
    EXPECT_TRUE(run.failed.empty());
    for (std::size_t seed = 0; seed < 1200; ++seed) {
      EXPECT_EQ(tally[seed], seed >= 101 && seed <= 1100 ? 1U : 0U) << seed << ", " << jobs;
    }
  }
}

TEST(SeedWorkers, AFailingSeedIsNamedAtOnceAndTheOthersGoOn) {
  for (const std::uint64_t jobs : {1, 3}) {
    Tally tally{101};
    std::vector<FailedSeed> told;
    const SeedRun run =
        run_in_workers({.last = 100, .jobs = jobs},
                       {.passes =
                            [&](std::uint64_t seed) {
                              ++tally[seed];
                              return seed != 17 && seed != 60;
                            },
                        .failed = [&](const FailedSeed& bad) { told.push_back(bad); }});
    EXPECT_EQ(run.failed, (std::vector<FailedSeed>{{17, "failed"}, {60, "failed"}}));
    EXPECT_EQ(told.size(), 2U);
    EXPECT_EQ(run.tried, 100U);
    for (std::size_t seed = 1; seed <= 100; ++seed) EXPECT_EQ(tally[seed], 1U) << seed;
  }
}

TEST(SeedWorkers, StopAfterSoManyFailures) {
  const SeedRun run = run_in_workers({.last = 1'000'000, .failures = 3, .jobs = 2},
                                     {.passes = [](std::uint64_t seed) { return seed <= 10; }});
  EXPECT_GE(run.failed.size(), 3U);
  EXPECT_LE(run.failed.size(), 4U);  // one was in progress
  EXPECT_EQ(run.tried, 10 + run.failed.size());
}

TEST(SeedWorkers, ACrashNamesItsSeed) {
  const SeedRun run = run_in_workers({.last = 40, .jobs = 2}, {.passes = [](std::uint64_t seed) {
                                       if (seed == 8) raise(SIGKILL);
                                       if (seed == 9) _exit(1);
                                       return true;
                                     }});
  EXPECT_EQ(run.failed, (std::vector<FailedSeed>{{8, "ended by signal 9 (Killed)"},
                                                 {9, "ended its process with status 1"}}));
  EXPECT_EQ(run.tried, 40U);
}

TEST(SeedWorkers, AHangEndsAndNamesItsSeed) {
  const SeedRun run = run_in_workers({.last = 40, .jobs = 2}, {.passes =
                                                                   [](std::uint64_t seed) {
                                                                     while (seed == 5) pause();
                                                                     return true;
                                                                   },
                                                               .limit = milliseconds{200}});
  EXPECT_EQ(run.failed, (std::vector<FailedSeed>{{5, "took longer than 200 ms"}}));
  EXPECT_EQ(run.tried, 40U);
}

}  // namespace
}  // namespace nerve::test
