#include "nic/flow_control/credits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "tests/seeds.h"
#include "wire/syndrome.h"

namespace nerve::nic {
namespace {

using enum CreditVerdict;

}  // namespace

TEST(SendCredits, LimitNothingUntilThePeerAnnounces) {
  const SendCredits credits;
  EXPECT_FALSE(credits.limited());
  for (const std::uint32_t ssn : {1U, 2U, 0x7f'ffffU, 0xff'ffffU})
    EXPECT_EQ(credits.verdict(ssn), kSend);
}

TEST(SendCredits, LetOneMessageProbePastTheLimit) {
  SendCredits credits;
  credits.on_ack(/*msn=*/10, /*code=*/2);  // two receives
  EXPECT_EQ(credits.limit(), 12u);
  EXPECT_EQ(credits.verdict(11), kSend);
  EXPECT_EQ(credits.verdict(12), kSend);
  EXPECT_EQ(credits.verdict(13), kProbe);
  EXPECT_EQ(credits.verdict(14), kWait);
  credits.on_ack(12, 0);
  EXPECT_EQ(credits.verdict(13), kProbe);
  credits.on_ack(12, 1);  // an unsolicited update: a receive was posted
  EXPECT_EQ(credits.verdict(13), kSend);
}

TEST(SendCredits, AreLiftedByAPeerThatDoesNotTell) {
  SendCredits credits;
  credits.on_ack(10, 0);
  EXPECT_EQ(credits.verdict(20), kWait);
  credits.on_ack(11, wire::kCreditsUnknown);
  EXPECT_FALSE(credits.limited());
  EXPECT_EQ(credits.verdict(20), kSend);
  credits.on_ack(12, 1);
  EXPECT_EQ(credits.limit(), 13u);
  credits.reset();
  EXPECT_EQ(credits.verdict(20), kSend);
}

TEST(SendCredits, AreNotTakenBackByStaleOrRoundedAcks) {
  SendCredits credits;
  credits.on_ack(100, 5);  // code 5 is six receives
  EXPECT_EQ(credits.limit(), 106u);
  credits.on_ack(101, 4);  // five are left; the code rounds down to four
  EXPECT_EQ(credits.limit(), 106u);
  credits.on_ack(90, 10);  // reordered in the network
  EXPECT_EQ(credits.limit(), 106u);
  credits.on_ack(90, wire::kCreditsUnknown);
  EXPECT_TRUE(credits.limited());
}

TEST(SendCredits, LiveOnARing) {
  SendCredits credits;
  credits.on_ack(0xff'fffe, 4);
  EXPECT_EQ(credits.limit(), 2u);
  EXPECT_EQ(credits.verdict(0xff'ffff), kSend);
  EXPECT_EQ(credits.verdict(2), kSend);
  EXPECT_EQ(credits.verdict(3), kProbe);
  EXPECT_EQ(credits.verdict(4), kWait);
  credits.on_ack(0xff'fff0, 8);
  EXPECT_EQ(credits.limit(), 2u) << "older, across the wrap";
  credits.on_ack(1, 4);
  EXPECT_EQ(credits.limit(), 5u);
}

// The responder posts and consumes receives, and ACKs are lost, duplicated and reordered: a message
// that was allowed (not as a probe) always finds a receive.
TEST(SendCredits, NeverPromiseAReceiveThatIsNotThere) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    Prng prng{seed};
    SendCredits credits;
    const auto first = static_cast<std::uint32_t>(prng.below(1U << 24));
    std::uint32_t completed = 0, posted_ever = static_cast<std::uint32_t>(prng.below(50));
    std::vector<std::pair<std::uint32_t, std::uint8_t>> on_the_way;
    for (int i = 0; i < 500; ++i) {
      if (prng.chance(400)) posted_ever += static_cast<std::uint32_t>(prng.below(40));
      if (prng.chance(500) && completed < posted_ever) ++completed;
      on_the_way.emplace_back((first + completed) & 0xff'ffffU,
                              announced_credits({}, false, posted_ever - completed));
      const auto& [msn, code] =
          on_the_way[on_the_way.size() - 1 -
                     prng.below(std::min<std::uint64_t>(on_the_way.size(), 8))];
      if (prng.chance(700)) credits.on_ack(msn, code);
      if (!credits.limited()) continue;
      for (std::uint32_t n = completed + 1; n < completed + 60; ++n) {
        if (credits.verdict((first + n) & 0xff'ffffU) == kSend) {
          ASSERT_LE(n, posted_ever);
        }
      }
    }
  });
}

TEST(AnnouncedCredits, TellOnlyWhatIsPromised) {
  EXPECT_EQ(announced_credits({}, false, 0), 0);
  EXPECT_EQ(announced_credits({}, false, 5), 4);
  EXPECT_EQ(announced_credits({}, false, 1'000'000), 30);
  EXPECT_EQ(announced_credits({}, /*shared_receives=*/true, 5), wire::kCreditsUnknown);
  EXPECT_EQ(announced_credits({.announce_credits = false}, false, 5), wire::kCreditsUnknown);
}

}  // namespace nerve::nic
