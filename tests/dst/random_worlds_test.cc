// Goal: whatever the network does, every request completes as the standard allows, and memory holds
// what an independent model predicts. Method: random worlds, each made from one seed.
#include <gtest/gtest.h>

#include "tests/dst/shrink.h"
#include "tests/dst/world.h"
#include "tests/seeds.h"
#include "wire/opcode.h"

namespace nerve::dst {
namespace {

void expect_no_violation(std::uint64_t seed, const Options& options) {
  const Outcome outcome = run_seed(seed, options);
  if (outcome.violations.empty()) return;
  for (const std::string& violation : outcome.violations) ADD_FAILURE() << violation;
  if (!options.trace) ADD_FAILURE() << describe(shrink(seed, options));
}

// Worlds with the additional behaviours of one family (twists.h).
void run_family(Family family) {
  test::for_each_seed_in_parallel(4'000, [&](std::uint64_t seed) {
    expect_no_violation(seed, {.trace = test::tracing(), .family = family});
  });
}

TEST(RandomWorlds, DoWhatTheModelSays) {
  test::for_each_seed_in_parallel(
      20'000, [](std::uint64_t seed) { expect_no_violation(seed, {.trace = test::tracing()}); });
}
// The same worlds, where all engines use selective repeat: the model is the same.
TEST(SelectiveWorlds, DoWhatTheModelSays) {
  test::for_each_seed_in_parallel(5'000, [](std::uint64_t seed) {
    expect_no_violation(seed, {.trace = test::tracing(), .recovery = Recovery::kSelective});
  });
}
// ... and where packets take paths by entropy values and are trimmed, with and without credits from
// receivers.
TEST(TrimmingWorlds, DoWhatTheModelSays) {
  test::for_each_seed_in_parallel(5'000, [](std::uint64_t seed) {
    const auto family = static_cast<Family>(seed / 2 % 4);
    expect_no_violation(
        seed, {.carriage = Carriage::kValues,
               .trace = test::tracing(),
               .recovery = seed % 2 == 0 ? Recovery::kTrimming : Recovery::kReceiverCredits,
               .family = family});
  });
}

// ... and where each engine draws its own recovery: with and without selective repeat and tail
// probes, in all families.
TEST(MixedWorlds, DoWhatTheModelSays) {
  test::for_each_seed_in_parallel(8'000, [](std::uint64_t seed) {
    const auto family = static_cast<Family>(seed % 4);
    expect_no_violation(seed,
                        {.trace = test::tracing(), .recovery = Recovery::kMixed, .family = family});
  });
}

// ... and where all hosts are engines of one device, like the shards of a process.
TEST(SiblingWorlds, DoWhatTheModelSays) {
  test::for_each_seed_in_parallel(6'000, [](std::uint64_t seed) {
    const auto family = static_cast<Family>(seed % 4);
    const auto recovery = static_cast<Recovery>(seed / 4 % 3);
    expect_no_violation(
        seed, {.trace = test::tracing(), .recovery = recovery, .family = family, .siblings = true});
  });
}

// ... and where packets are sealed on the way, and each is sent once more by somebody on the path.
TEST(SealedWorlds, DoWhatTheModelSays) {
  test::for_each_seed_in_parallel(2'000, [](std::uint64_t seed) {
    const auto family = static_cast<Family>(seed % 4);
    const auto recovery = static_cast<Recovery>(seed / 4 % 3);
    expect_no_violation(seed, {.carriage = Carriage::kSealed,
                               .trace = test::tracing(),
                               .recovery = recovery,
                               .family = family});
  });
}

// ... and where somebody forges packets between them.
TEST(StrangerWorlds, DoWhatTheModelSays) {
  test::for_each_seed_in_parallel(6'000, [](std::uint64_t seed) {
    expect_no_violation(seed, {.trace = test::tracing(),
                               .recovery = static_cast<Recovery>(seed % 3),
                               .stranger = true,
                               .scatter = seed / 3 % 2 == 0});
  });
}

// ... and where QPNs follow each other in a secret order.
TEST(ScatteredWorlds, DoWhatTheModelSays) {
  test::for_each_seed_in_parallel(4'000, [](std::uint64_t seed) {
    expect_no_violation(seed, {.trace = test::tracing(),
                               .recovery = static_cast<Recovery>(seed / 4 % 3),
                               .family = static_cast<Family>(seed % 4),
                               .siblings = seed % 5 == 0,
                               .scatter = true});
  });
}

// ... and where all memory is behind a slow copy engine, like a GPU's.
TEST(LateWorlds, DoWhatTheModelSays) {
  test::for_each_seed_in_parallel(6'000, [](std::uint64_t seed) {
    expect_no_violation(seed,
                        {.trace = test::tracing(),
                         .recovery = seed / 4 % 2 == 0 ? Recovery::kGoBackN : Recovery::kMixed,
                         .family = static_cast<Family>(seed % 4),
                         .late_memory = true,
                         .siblings = seed % 5 == 0});
  });
}

// ... where requests between such memories may be copied without packets.
TEST(LateWorlds, WithADirectPathDoWhatTheModelSays) {
  test::for_each_seed_in_parallel(6'000, [](std::uint64_t seed) {
    expect_no_violation(seed,
                        {.carriage = Carriage::kValues,
                         .trace = test::tracing(),
                         .recovery = seed / 4 % 2 == 0 ? Recovery::kGoBackN : Recovery::kMixed,
                         .family = static_cast<Family>(seed % 4),
                         .late_memory = true,
                         .late_copies = true});
  });
}

// Seeds beyond the usual range that once failed: the last packet of a flight had not requested an
// ACK when the queue was stopped (131971) or ran out of credits (the others).
// tests/regressions/ack_not_requested_test.cc tests these cases separately.
TEST(FormerlyFailing, DoWhatTheModelSays) {
  for (const std::uint64_t seed : {131971, 155421, 165478, 188002, 482633, 603316}) {
    SCOPED_TRACE(seed);
    expect_no_violation(seed, {});
  }
}

// The duplicate with the ACK request was sent above the rate limit.
TEST(FormerlyFailing, LivesDoWhatTheModelSays) {
  expect_no_violation(814729, {.family = Family::kLives});
}

// Connections that begin and end in every possible way.
TEST(LifeWorlds, DoWhatTheModelSays) { run_family(Family::kLives); }

// Keys with all rights, revoked while they are in use.
TEST(MemoryWorlds, DoWhatTheModelSays) { run_family(Family::kMemory); }

// Queues that run low, overflow or run dry.
TEST(ReceiveWorlds, DoWhatTheModelSays) { run_family(Family::kReceives); }

// Every kind of request was seen across the PSN wrap.
TEST(LifeWorldsCover, EveryOperationAcrossTheWrap) {
  using wire::Operation;
  std::uint32_t wrapped = 0;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    wrapped |= run_seed(seed, {.family = Family::kLives}).wrapped;
  }
  for (const Operation operation :
       {Operation::kSendLast, Operation::kSendLastImm, Operation::kWriteLast,
        Operation::kWriteLastImm, Operation::kReadRequest, Operation::kCompareSwap,
        Operation::kFetchAdd, Operation::kAtomicWrite, Operation::kFlush}) {
    EXPECT_TRUE((wrapped >> static_cast<std::uint32_t>(operation) & 1U) != 0)
        << "operation " << static_cast<int>(operation);
  }
}

TEST(Determinism, SameSeedSameHistory) {
  test::for_each_seed(
      100, [](std::uint64_t seed) { EXPECT_EQ(run_seed(seed).history, run_seed(seed).history); });
}

// Frames passed as values, as in a simulator, must have the same effect as the bytes of a real
// link, sealed or not.
TEST(Determinism, ValuesAndBytesMeanTheSame) {
  test::for_each_seed(300, [](std::uint64_t seed) {
    const bool trace = test::tracing();
    EXPECT_EQ(run_seed(seed, {.carriage = Carriage::kValues, .trace = trace}).history,
              run_seed(seed, {.carriage = Carriage::kBytes, .trace = trace}).history);
    for (const Recovery recovery : {Recovery::kSelective, Recovery::kMixed}) {
      const auto history = [&](Carriage carriage) {
        return run_seed(seed, {.carriage = carriage, .trace = trace, .recovery = recovery}).history;
      };
      EXPECT_EQ(history(Carriage::kValues), history(Carriage::kBytes));
      if (seed % 10 != 0) continue;
      EXPECT_EQ(history(Carriage::kSealed), history(Carriage::kBytes));
    }
  });
}

}  // namespace
}  // namespace nerve::dst
