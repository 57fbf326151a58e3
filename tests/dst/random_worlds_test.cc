// Goal: whatever the network does, every request ends as the standard allows, and memory holds what
// an independent model predicts. Method: random worlds, each made from one seed.
#include <gtest/gtest.h>

#include "tests/dst/world.h"
#include "tests/seeds.h"
#include "wire/opcode.h"

namespace nerve::dst {
namespace {

// The seeds are dealt to several test cases so that ctest runs them side by side.
constexpr std::uint64_t kSeeds = 20'000;
constexpr std::uint64_t kShards = 8;
constexpr std::uint64_t kSelectiveSeeds = 5'000;
constexpr std::uint64_t kSelectiveShards = 2;

constexpr std::uint64_t kFamilySeeds = 4'000;
constexpr std::uint64_t kFamilyShards = 2;

void run_family(Family family, std::uint64_t shard) {
  test::for_each_seed(
      {.count = kFamilySeeds, .shard = shard, .shards = kFamilyShards}, [&](std::uint64_t seed) {
        const Outcome outcome = run_seed(seed, {.trace = test::tracing(), .family = family});
        for (const std::string& violation : outcome.violations) {
          ADD_FAILURE() << violation;
        }
      });
}

class RandomWorlds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomWorlds, DoWhatTheModelSays) {
  test::for_each_seed({.count = kSeeds, .shard = GetParam(), .shards = kShards},
                      [](std::uint64_t seed) {
                        const Outcome outcome = run_seed(seed, {.trace = test::tracing()});
                        for (const std::string& violation : outcome.violations) {
                          ADD_FAILURE() << violation;
                        }
                      });
}
// The same worlds, where all engines repair losses by selective repeat: the model is the same.
class SelectiveWorlds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(SelectiveWorlds, DoWhatTheModelSays) {
  test::for_each_seed({.count = kSelectiveSeeds, .shard = GetParam(), .shards = kSelectiveShards},
                      [](std::uint64_t seed) {
                        const Outcome outcome =
                            run_seed(seed, {.trace = test::tracing(), .selective_repeat = true});
                        for (const std::string& violation : outcome.violations) {
                          ADD_FAILURE() << violation;
                        }
                      });
}
INSTANTIATE_TEST_SUITE_P(Shard, SelectiveWorlds,
                         ::testing::Range<std::uint64_t>(0, kSelectiveShards));

// Connections that end and begin in every way.
class LifeWorlds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(LifeWorlds, DoWhatTheModelSays) { run_family(Family::kLives, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Shard, LifeWorlds, ::testing::Range<std::uint64_t>(0, kFamilyShards));

// Keys that give every right, and go away while they are in use.
class MemoryWorlds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(MemoryWorlds, DoWhatTheModelSays) { run_family(Family::kMemory, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Shard, MemoryWorlds, ::testing::Range<std::uint64_t>(0, kFamilyShards));

INSTANTIATE_TEST_SUITE_P(Shard, RandomWorlds, ::testing::Range<std::uint64_t>(0, kShards));

// Each kind of request has been seen across the wrap of PSNs.
TEST(LifeWorldsCover, EveryOperationAcrossTheWrap) {
  using wire::Operation;
  std::uint32_t wrapped = 0;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    wrapped |= run_seed(seed, {.family = Family::kLives}).wrapped;
  }
  for (const Operation operation :
       {Operation::kSendLast, Operation::kSendLastImm, Operation::kSendLastInvalidate,
        Operation::kWriteLast, Operation::kWriteLastImm, Operation::kReadRequest,
        Operation::kCompareSwap, Operation::kFetchAdd, Operation::kAtomicWrite,
        Operation::kFlush}) {
    EXPECT_TRUE((wrapped >> static_cast<std::uint32_t>(operation) & 1U) != 0)
        << "operation " << static_cast<int>(operation);
  }
}

TEST(Determinism, SameSeedSameHistory) {
  test::for_each_seed(
      100, [](std::uint64_t seed) { EXPECT_EQ(run_seed(seed).history, run_seed(seed).history); });
}

// What a simulator passes on as values must mean the same as the octets of a real link.
TEST(Determinism, ValuesAndOctetsMeanTheSame) {
  test::for_each_seed(300, [](std::uint64_t seed) {
    const bool trace = test::tracing();
    EXPECT_EQ(run_seed(seed, {.carriage = Carriage::kValues, .trace = trace}).history,
              run_seed(seed, {.carriage = Carriage::kOctets, .trace = trace}).history);
    const auto selective = [&](Carriage carriage) {
      return run_seed(seed, {.carriage = carriage, .trace = trace, .selective_repeat = true});
    };
    EXPECT_EQ(selective(Carriage::kValues).history, selective(Carriage::kOctets).history);
  });
}

}  // namespace
}  // namespace nerve::dst
