// Goal: the tests can fail. Each planted bug, enabled alone in an engine built for this test, must
// be detected by the random worlds within 2 000 seeds; the same engine without any must pass.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "base/planted.h"
#include "tests/dst/cm_world.h"
#include "tests/dst/shrink.h"
#include "tests/dst/world.h"

namespace nerve {

Bug active_bug = Bug::kNone;

namespace dst {
namespace {

constexpr std::uint64_t kSeeds = 2000;

const char* name_of(Bug bug) {
  switch (bug) {
    case Bug::kNone:
      return "None";
    case Bug::kSkipDuplicateCheck:
      return "SkipDuplicateCheck";
    case Bug::kExecuteAtomicTwice:
      return "ExecuteAtomicTwice";
    case Bug::kAcceptStaleRkey:
      return "AcceptStaleRkey";
    case Bug::kSkipBoundsCheck:
      return "SkipBoundsCheck";
    case Bug::kSkipRemoteWriteRight:
      return "SkipRemoteWriteRight";
    case Bug::kMiscomputeIcrc:
      return "MiscomputeIcrc";
    case Bug::kIgnoreIcrc:
      return "IgnoreIcrc";
    case Bug::kLoseFlushCompletion:
      return "LoseFlushCompletion";
    case Bug::kCompleteBeforeAck:
      return "CompleteBeforeAck";
    case Bug::kAcceptWrongPsn:
      return "AcceptWrongPsn";
    case Bug::kForgetRetransmit:
      return "ForgetRetransmit";
    case Bug::kResumeAtMessageStart:
      return "ResumeAtMessageStart";
    case Bug::kReadRestartWrongOffset:
      return "ReadRestartWrongOffset";
    case Bug::kIgnoreFence:
      return "IgnoreFence";
    case Bug::kExceedReadDepth:
      return "ExceedReadDepth";
    case Bug::kSkipReceiveLengthCheck:
      return "SkipReceiveLengthCheck";
    case Bug::kDeliverToWrongSge:
      return "DeliverToWrongSge";
    case Bug::kDropImmediate:
      return "DropImmediate";
    case Bug::kMsnNotCounted:
      return "MsnNotCounted";
    case Bug::kRnrIgnoresTimer:
      return "RnrIgnoresTimer";
    case Bug::kUdAcceptsAnyQkey:
      return "UdAcceptsAnyQkey";
    case Bug::kSwapCompletions:
      return "SwapCompletions";
    case Bug::kPsnWrapOff:
      return "PsnWrapOff";
    case Bug::kIgnoreRereg:
      return "IgnoreRereg";
    case Bug::kUnbindKeepsKey:
      return "UnbindKeepsKey";
    case Bug::kSrqOrder:
      return "SrqOrder";
    case Bug::kLoseCqEvent:
      return "LoseCqEvent";
    case Bug::kLoseOnResize:
      return "LoseOnResize";
    case Bug::kIgnoreRateLimit:
      return "IgnoreRateLimit";
    case Bug::kAckNamesRead:
      return "AckNamesRead";
    case Bug::kForgetAckRequest:
      return "ForgetAckRequest";
    case Bug::kSelectiveNakToAny:
      return "SelectiveNakToAny";
    case Bug::kSelectiveRunAcks:
      return "SelectiveRunAcks";
    case Bug::kProbeMislabelsPacket:
      return "ProbeMislabelsPacket";
    case Bug::kTrimmedMislabelled:
      return "TrimmedMislabelled";
    case Bug::kTakesStalePacket:
      return "TakesStalePacket";
    case Bug::kReadLosesSink:
      return "ReadLosesSink";
    case Bug::kWindowGivesAtomics:
      return "WindowGivesAtomics";
    case Bug::kRetriesOneShort:
      return "RetriesOneShort";
    case Bug::kKeepsFirstMtu:
      return "KeepsFirstMtu";
    case Bug::kAnswerSkipsAtWrap:
      return "AnswerSkipsAtWrap";
    case Bug::kForgetsOverdueTimer:
      return "ForgetsOverdueTimer";
    case Bug::kOverrunLosesOldest:
      return "OverrunLosesOldest";
    case Bug::kSrqLimitEarly:
      return "SrqLimitEarly";
    case Bug::kRnrRetriesOneShort:
      return "RnrRetriesOneShort";
    case Bug::kUdSrqUsesQpDomain:
      return "UdSrqUsesQpDomain";
    case Bug::kForgetsTwinQps:
      return "ForgetsTwinQps";
    case Bug::kXrcWrongSrq:
      return "XrcWrongSrq";
    case Bug::kKeyOutlivesRegion:
      return "KeyOutlivesRegion";
    case Bug::kCqHomeIsSiblings:
      return "CqHomeIsSiblings";
    case Bug::kCompletionToSiblingCq:
      return "CompletionToSiblingCq";
    case Bug::kRtuNotRepeated:
      return "RtuNotRepeated";
    case Bug::kDrepNotRepeated:
      return "DrepNotRepeated";
    case Bug::kStaleNotNoticed:
      return "StaleNotNoticed";
    case Bug::kStaleEndsConnection:
      return "StaleEndsConnection";
    case Bug::kEvictsEstablished:
      return "EvictsEstablished";
    case Bug::kMsnWindowOneShort:
      return "MsnWindowOneShort";
    case Bug::kMsnNotCompared:
      return "MsnNotCompared";
    case Bug::kFarRequestAnswered:
      return "FarRequestAnswered";
    case Bug::kCnpIntervalIgnored:
      return "CnpIntervalIgnored";
    case Bug::kCompletesBeforeLanding:
      return "CompletesBeforeLanding";
    case Bug::kAcknowledgesBeforeLanding:
      return "AcknowledgesBeforeLanding";
    case Bug::kReadOvertakesWrite:
      return "ReadOvertakesWrite";
    case Bug::kPacketOvertakesCopy:
      return "PacketOvertakesCopy";
    case Bug::kCount:
    case Bug::kReductionSkipsChunk:
    case Bug::kUsesFreedImport:
    case Bug::kCopyEndsEarly:
    case Bug::kNonceReused:
    case Bug::kReplayWindowShort:
    case Bug::kOldEpochForEver:
    case Bug::kBthNotAuthenticated:
    case Bug::kShortTag:
    case Bug::kUnsignedMadAccepted:
      break;
  }
  return "Unnamed";
}

Family family_of(Bug bug) {
  switch (bug) {
    case Bug::kTakesStalePacket:
    case Bug::kRetriesOneShort:
    case Bug::kKeepsFirstMtu:
    case Bug::kAnswerSkipsAtWrap:
    case Bug::kForgetsOverdueTimer:
      return Family::kLives;
    case Bug::kOverrunLosesOldest:
    case Bug::kSrqLimitEarly:
    case Bug::kRnrRetriesOneShort:
    case Bug::kUdSrqUsesQpDomain:
    case Bug::kForgetsTwinQps:
    case Bug::kXrcWrongSrq:
      return Family::kReceives;
    case Bug::kReadLosesSink:
    case Bug::kWindowGivesAtomics:
    case Bug::kKeyOutlivesRegion:
      return Family::kMemory;
    default:
      return Family::kCommon;
  }
}

Recovery recovery_of(Bug bug) {
  switch (bug) {
    case Bug::kSelectiveNakToAny:
    case Bug::kSelectiveRunAcks:
    case Bug::kProbeMislabelsPacket:
      return Recovery::kMixed;
    case Bug::kTrimmedMislabelled:
      return Recovery::kTrimming;
    default:
      return Recovery::kGoBackN;
  }
}

bool is_of_late_memory(Bug bug) {
  return bug >= Bug::kCompletesBeforeLanding && bug <= Bug::kPacketOvertakesCopy;
}

bool is_of_strangers(Bug bug) {
  return bug >= Bug::kMsnNotCompared && bug <= Bug::kCnpIntervalIgnored;
}

// The worlds in which a bug is visible.
Outcome run_world_of(Bug bug, std::uint64_t seed) {
  if (bug >= Bug::kRtuNotRepeated) {
    return run_connections(seed, {.stranger = bug == Bug::kStaleEndsConnection});
  }
  const bool copies = bug == Bug::kPacketOvertakesCopy;
  const bool values = copies || bug == Bug::kTrimmedMislabelled;
  return run_seed(seed, {.carriage = values ? Carriage::kValues : Carriage::kBytes,
                         .recovery = recovery_of(bug),
                         .family = family_of(bug),
                         .late_memory = is_of_late_memory(bug),
                         .late_copies = copies,
                         .siblings = bug >= Bug::kKeyOutlivesRegion,
                         .stranger = is_of_strangers(bug)});
}

class PlantedBugs : public ::testing::TestWithParam<std::uint8_t> {
 protected:
  void TearDown() override { active_bug = Bug::kNone; }
};

TEST_P(PlantedBugs, AreCaught) {
  active_bug = static_cast<Bug>(GetParam());
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Outcome outcome = run_world_of(active_bug, seed);
    if (outcome.violations.empty()) continue;
    std::printf("caught by seed %llu: %s\n", static_cast<unsigned long long>(seed),
                outcome.violations.front().c_str());
    return;
  }
  FAIL() << "not caught by " << kSeeds << " seeds";
}
INSTANTIATE_TEST_SUITE_P(All, PlantedBugs,
                         ::testing::Range(std::uint8_t{1}, static_cast<std::uint8_t>(Bug::kCount)),
                         [](const ::testing::TestParamInfo<std::uint8_t>& which) {
                           return std::string{name_of(static_cast<Bug>(which.param))};
                         });

// A failing world is minimised, and the small one still fails in the same way.
TEST(Shrink, FindsASmallWorldThatStillFails) {
  active_bug = Bug::kCompleteBeforeAck;
  std::uint64_t seed = 1;
  while (run_seed(seed).violations.empty()) ASSERT_LT(++seed, kSeeds);
  const std::size_t whole = run_seed(seed, {.story = true}).story.size();
  const Shrunk shrunk = shrink(seed, {});
  EXPECT_FALSE(shrunk.violation.empty());
  EXPECT_LE(shrunk.limits.requests, 8U) << describe(shrunk);
  EXPECT_LT(2 * shrunk.story.size(), whole) << describe(shrunk);
  EXPECT_FALSE(run_seed(seed, {.limits = shrunk.limits}).violations.empty());
  active_bug = Bug::kNone;
}

TEST(PlantedBugsOff, NothingIsFound) {
  for (std::uint64_t seed = 1; seed <= kSeeds / 4; ++seed) {
    const Outcome outcome = run_seed(seed);
    ASSERT_TRUE(outcome.violations.empty()) << "seed " << seed << ": " << outcome.violations[0];
    const Outcome mixed = run_seed(seed, {.recovery = Recovery::kMixed});
    ASSERT_TRUE(mixed.violations.empty()) << "seed " << seed << ": " << mixed.violations[0];
    const Outcome trimming =
        run_seed(seed, {.carriage = Carriage::kValues, .recovery = Recovery::kTrimming});
    ASSERT_TRUE(trimming.violations.empty()) << "seed " << seed << ": " << trimming.violations[0];
    const Outcome siblings = run_seed(seed, {.siblings = true});
    ASSERT_TRUE(siblings.violations.empty()) << "seed " << seed << ": " << siblings.violations[0];
    const Outcome late = run_seed(seed, {.late_memory = true});
    ASSERT_TRUE(late.violations.empty()) << "seed " << seed << ": " << late.violations[0];
    const Outcome stranger = run_seed(seed, {.stranger = true});
    ASSERT_TRUE(stranger.violations.empty()) << "seed " << seed << ": " << stranger.violations[0];
    for (const bool forged : {false, true}) {
      const Outcome connections = run_connections(seed, {.stranger = forged});
      ASSERT_TRUE(connections.violations.empty())
          << "seed " << seed << ": " << connections.violations[0];
    }
  }
}

}  // namespace
}  // namespace dst
}  // namespace nerve
