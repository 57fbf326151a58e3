// Two ends of a controller's session, and a network between them that changes, repeats, reorders
// and reflects bytes.
#include <gtest/gtest.h>

#include "cli/controller_session.h"

namespace nerve::cli {
namespace {

using Role = ControllerSession::Role;
using Bodies = std::vector<std::string>;

seal::SharedKey key_of(int value) {
  seal::SharedKey key;
  key.bytes()[0] = static_cast<std::byte>(value);
  return key;
}

ControllerSession end_of(Role role, int key = 1) {
  auto session = ControllerSession::begin(role, key_of(key).bytes());
  CHECK(session.has_value());
  return *std::move(session);
}

// An agent and a controller that have greeted each other.
struct Pair {
  ControllerSession agent = end_of(Role::kAgent);
  ControllerSession controller = end_of(Role::kController);

  Pair() {
    CHECK(agent.take(controller.greeting()).has_value());
    CHECK(controller.take(agent.greeting()).has_value());
  }
};

std::string why(const Result<Bodies, std::string>& result) {
  return result ? "accepted" : result.error();
}

TEST(ControllerSession, CarriesBodiesInBothDirections) {
  Pair pair;
  EXPECT_TRUE(pair.agent.established() && pair.controller.established());
  EXPECT_FALSE(pair.controller.proved());
  std::string sent = pair.agent.wrap("a");
  sent += pair.agent.wrap("");
  const auto came = pair.controller.take(sent);
  ASSERT_TRUE(came) << came.error();
  EXPECT_EQ(*came, (Bodies{"a", ""}));
  EXPECT_TRUE(pair.controller.proved());
  const auto back = pair.agent.take(pair.controller.wrap(std::string(100'000, 'b')));
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(*back, Bodies{std::string(100'000, 'b')});
}

TEST(ControllerSession, TakesAStreamByteByByte) {
  ControllerSession agent = end_of(Role::kAgent);
  ControllerSession controller = end_of(Role::kController);
  ASSERT_TRUE(agent.take(controller.greeting()));
  std::string sent = agent.greeting();
  sent += agent.wrap("one");
  sent += agent.wrap("two");
  Bodies all;
  for (const char c : sent) {
    const auto some = controller.take({&c, 1});
    ASSERT_TRUE(some) << some.error();
    all.insert(all.end(), some->begin(), some->end());
  }
  EXPECT_EQ(all, (Bodies{"one", "two"}));
}

TEST(ControllerSession, AnotherKeyIsNoticedByBothEnds) {
  ControllerSession agent = end_of(Role::kAgent, 1);
  ControllerSession controller = end_of(Role::kController, 2);
  ASSERT_TRUE(agent.take(controller.greeting()));
  ASSERT_TRUE(controller.take(agent.greeting()));
  EXPECT_EQ(why(controller.take(agent.wrap("a"))), "the peer has another key");
  EXPECT_EQ(why(agent.take(controller.wrap("b"))), "the peer has another key");
  EXPECT_EQ(why(agent.take("")), "the peer has another key");  // for ever
}

// Whatever byte of a session is changed, the receiver ends it, or waits for bytes that do not come.
TEST(ControllerSession, EveryChangedByteIsNoticed) {
  ControllerSession agent = end_of(Role::kAgent);
  ControllerSession greeted = end_of(Role::kController);
  ASSERT_TRUE(agent.take(greeted.greeting()));
  std::string sent = agent.greeting();
  sent += agent.wrap("one");
  sent += agent.wrap("two");
  ASSERT_EQ(*ControllerSession{greeted}.take(sent), (Bodies{"one", "two"}));
  constexpr Bodies::size_type kWhole = 2;
  for (std::size_t at = 0; at < sent.size(); ++at) {
    for (const int bit : {0, 7}) {
      std::string changed = sent;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      ControllerSession controller = greeted;
      const auto result = controller.take(changed);
      if (!result) continue;
      EXPECT_LT(result->size(), kWhole) << at;
      // Only a length that grew looks like bytes that are still on their way.
      EXPECT_EQ(controller.ended(), "the connection was closed within a frame") << at;
    }
  }
}

TEST(ControllerSession, ARepeatedFrameEndsIt) {
  Pair pair;
  const std::string proof_and_first = pair.agent.wrap("first");
  const std::string second = pair.agent.wrap("second");
  ASSERT_TRUE(pair.controller.take(proof_and_first + second));
  EXPECT_EQ(why(pair.controller.take(second)), "frame 3 is not the one that the peer sent");
}

TEST(ControllerSession, AReorderedFrameEndsIt) {
  Pair pair;
  ASSERT_TRUE(pair.controller.take(pair.agent.wrap("first")));
  (void)pair.agent.wrap("second");
  EXPECT_EQ(why(pair.controller.take(pair.agent.wrap("third"))),
            "frame 2 is not the one that the peer sent");
}

TEST(ControllerSession, AFrameOfAnEarlierSessionEndsIt) {
  Pair earlier;
  Pair pair;
  EXPECT_EQ(why(pair.controller.take(earlier.agent.wrap("a"))), "the peer has another key");
}

TEST(ControllerSession, ReflectedBytesEndIt) {
  ControllerSession agent = end_of(Role::kAgent);
  EXPECT_EQ(why(agent.take(agent.greeting())), "the peer does not greet as a controller");
  Pair pair;
  EXPECT_EQ(why(pair.agent.take(pair.agent.wrap("a"))), "the peer has another key");
}

TEST(ControllerSession, TwoEndsOfOneRoleDoNotTalk) {
  ControllerSession agent = end_of(Role::kAgent);
  EXPECT_EQ(why(agent.take(end_of(Role::kAgent).greeting())),
            "the peer does not greet as a controller");
  ControllerSession controller = end_of(Role::kController);
  EXPECT_EQ(why(controller.take(end_of(Role::kController).greeting())),
            "the peer does not greet as an agent");
}

TEST(ControllerSession, StrangersAreTurnedAwayEarly) {
  EXPECT_EQ(why(end_of(Role::kController).take("G")), "the peer is not an agent of Nerve");
  EXPECT_EQ(why(end_of(Role::kAgent).take("HTTP")), "the peer is not a controller of Nerve");
  std::string newer = end_of(Role::kAgent).greeting();
  newer[4] = 2;
  EXPECT_EQ(why(end_of(Role::kController).take(newer.substr(0, 5))),
            "the peer speaks version 2 of the protocol, this program version 1");
}

TEST(ControllerSession, APeerWithoutAProofFillsNoBuffer) {
  Pair pair;
  EXPECT_EQ(why(pair.controller.take(std::string("\0\0\1\0", 4))),
            "the peer did not prove that it knows the key");
}

TEST(ControllerSession, FramesHaveALimit) {
  Pair pair;
  ASSERT_TRUE(pair.controller.take(pair.agent.wrap("")));
  EXPECT_EQ(why(pair.controller.take(std::string("\1\0\0\1", 4))),
            "the peer announced a frame of 16777217 bytes; the limit is 16777216");
}

TEST(ControllerSession, SaysWhatAnEndOfTheStreamMeans) {
  EXPECT_EQ(end_of(Role::kAgent).ended(), "the connection was closed before a greeting");
  Pair pair;
  EXPECT_EQ(pair.agent.ended(), "the connection was closed; the peer may have another key");
  ASSERT_TRUE(pair.agent.take(pair.controller.wrap("a")));
  EXPECT_EQ(pair.agent.ended(), "the connection was closed");
  ASSERT_TRUE(pair.agent.take(pair.controller.wrap("b").substr(0, 9)));
  EXPECT_EQ(pair.agent.ended(), "the connection was closed within a frame");
}

}  // namespace
}  // namespace nerve::cli
