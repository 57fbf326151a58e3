// Goal: the checks of sealing notice each bug that is planted in it.
#include <gtest/gtest.h>

#include "base/planted.h"
#include "host/seal/libcrypto.h"
#include "seal/signed_mad.h"
#include "tests/seal/hostile_world.h"

namespace nerve {
Bug active_bug = Bug::kNone;
}

namespace nerve::seal {
namespace {

// How many worlds it takes; zero if it is not noticed.
std::uint64_t worlds_until_noticed(Bug bug) {
  active_bug = bug;
  constexpr std::uint64_t kMost = 300;
  std::uint64_t seed = 1;
  while (seed <= kMost && run_hostile_world(seed).empty()) ++seed;
  active_bug = Bug::kNone;
  return seed <= kMost ? seed : 0;
}

TEST(SealPlanted, WorldsNoticeEachBug) {
  EXPECT_EQ(worlds_until_noticed(Bug::kNone), 0U);
  for (const Bug bug : {Bug::kNonceReused, Bug::kReplayWindowShort, Bug::kOldEpochForEver,
                        Bug::kBthNotAuthenticated}) {
    EXPECT_GT(worlds_until_noticed(bug), 0U) << static_cast<int>(bug);
  }
}

// True if a packet with another tag is accepted. The first four bytes are right.
bool accepts_another_tag() {
  const auto cipher =
      (*host::Libcrypto::load())->make_cipher(Suite::kAes128Gcm, std::array<std::byte, 16>{});
  std::array<std::byte, kTagSize> tag{};
  cipher->begin_sealing({}, {});
  EXPECT_TRUE(cipher->finish_sealing(tag));
  tag[5] ^= std::byte{1};
  cipher->begin_opening({}, {});
  return cipher->finish_opening(tag);
}

TEST(SealPlanted, ATagThatIsComparedInPartIsNoticed) {
  EXPECT_FALSE(accepts_another_tag());
  active_bug = Bug::kShortTag;
  EXPECT_TRUE(accepts_another_tag());
  active_bug = Bug::kNone;
}

TEST(SealPlanted, AManagementDatagramWithoutSignatureIsNoticed) {
  const ChainSecret secret;
  const MadKey key{**host::Libcrypto::load(), secret};
  const auto accepts_unsigned = [&] { return key.verify({}, {}, SignedMad{}); };
  EXPECT_FALSE(accepts_unsigned());
  active_bug = Bug::kUnsignedMadAccepted;
  EXPECT_TRUE(accepts_unsigned());
  active_bug = Bug::kNone;
}

}  // namespace
}  // namespace nerve::seal
