// Goal: the death of a peer ends its communications in every state, immediately and with an event;
// disconnect_all() notifies every peer; a request that was seen no longer counts in the backlog.
#include "tests/nic/connection/cm_pair.h"

namespace nerve::nic::peer_death_test {
namespace {

using test::CmPair;
using test::kMillisecond;
using test::kSecond;
using wire::CmAttribute;
using wire::RejectReason;
using Kinds = std::vector<CmEventKind>;

constexpr std::uint32_t kBlock = 1U << kCommIdBits;

constexpr wire::CommId kOneOfA{1 * kBlock + 7};
constexpr wire::CommId kOneOfB{2 * kBlock + 7};

// One of two processes dies, and the test reports it to the other.
struct TwoProcesses : CmPair {
  void a_dies() { b.cm().lose_peer(kOneOfA, {&a.gid, 1}, now); }
  void b_dies() { a.cm().lose_peer(kOneOfB, {&b.gid, 1}, now); }
  void expect_nothing_left(test::CmEnd& survivor) {
    survivor.cm().disconnect_all();
    lose = [](const test::SeenMad&) { return true; };
    wait(200 * kSecond);
    EXPECT_EQ(survivor.cm().size(), 0U);
    EXPECT_FALSE(survivor.nic.next_deadline());
  }
};

RejectReason reason_of(const CmEvent& event) { return std::get<wire::CmRej>(event.message).reason; }

TEST(CmLosses, ARequesterThatIsGoneIsRejected) {
  TwoProcesses pair;
  pair.open();
  pair.a_dies();
  EXPECT_EQ(reason_of(pair.b.expect(CmEventKind::kRejected)), RejectReason::kConsumer);
  EXPECT_FALSE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.expect_nothing_left(pair.b);
}

TEST(CmLosses, ARequesterThatIsGoneAfterTheReply) {
  TwoProcesses pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.lose = [](const test::SeenMad& mad) { return mad.attribute() == CmAttribute::kRep; };
  pair.exchange();
  pair.a_dies();
  EXPECT_EQ(reason_of(pair.b.expect(CmEventKind::kRejected)), RejectReason::kConsumer);
  pair.expect_nothing_left(pair.b);
}

TEST(CmLosses, AServerThatIsGoneAfterItsReply) {
  TwoProcesses pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  pair.a.expect(CmEventKind::kReply);
  pair.b_dies();
  EXPECT_EQ(reason_of(pair.a.expect(CmEventKind::kRejected)), RejectReason::kConsumer);
  EXPECT_FALSE(pair.a.cm().confirm(pair.active, {}));
  pair.expect_nothing_left(pair.a);
}

// The server's identity is not known yet: the request is repeated at once, and its successor
// answers.
TEST(CmLosses, AServerThatHasNotAnsweredIsAskedAgain) {
  TwoProcesses pair;
  pair.open();
  (void)pair.said();
  pair.b_dies();
  pair.exchange();
  EXPECT_EQ(pair.said(), "a:REQ");
  EXPECT_TRUE(pair.a.events().empty());
  pair.expect_nothing_left(pair.a);
}

TEST(CmLosses, AConnectionIsDisconnected) {
  for (const bool active : {true, false}) {
    TwoProcesses pair;
    pair.establish();
    auto& survivor = active ? pair.a : pair.b;
    if (active) {
      pair.b_dies();
    } else {
      pair.a_dies();
    }
    survivor.expect(CmEventKind::kDisconnected);
    EXPECT_FALSE(survivor.nic.wants_to_send());
    pair.wait(100 * kSecond);
    survivor.expect(CmEventKind::kTimewaitOver);
    pair.expect_nothing_left(survivor);
  }
}

TEST(CmLosses, APendingDisconnectEndsAtOnce) {
  TwoProcesses pair;
  pair.establish();
  pair.lose = [](const test::SeenMad&) { return true; };
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
  pair.exchange();
  pair.b_dies();
  pair.a.expect(CmEventKind::kDisconnected);
  pair.expect_nothing_left(pair.a);
}

TEST(CmLosses, OfAnotherProcessOrHostIsNoLoss) {
  TwoProcesses pair;
  pair.establish();
  const wire::Gid other = wire::Gid::ipv4(10, 9, 9, 9);
  pair.a.cm().lose_peer(kOneOfB, {&other, 1}, pair.now);
  pair.a.cm().lose_peer(kOneOfA, {&pair.b.gid, 1}, pair.now);
  EXPECT_TRUE(pair.a.events().empty());
}

TEST(CmDisconnectAll, NotifiesEveryPeer) {
  CmPair pair;
  pair.establish();
  const CommHandle second = *pair.a.cm().connect([&] {
    auto other = pair.a.to(pair.b);
    other.offer.qpn = Qpn{0x777};
    return other;
  }());
  pair.exchange();
  (void)pair.b.events();
  (void)pair.said();
  pair.a.cm().disconnect_all();
  pair.exchange();
  EXPECT_EQ(pair.b.events(), (Kinds{CmEventKind::kDisconnectRequested, CmEventKind::kRejected}));
  EXPECT_FALSE(pair.a.cm().destroy(second));
  pair.b.cm().disconnect_all();
  pair.wait(200 * kSecond);
  EXPECT_EQ(pair.a.cm().size(), 0U);
  EXPECT_EQ(pair.b.cm().size(), 0U);
}

TEST(CmBacklog, DoesNotCountWhatWasSeen) {
  CmPair pair;
  pair.listener = *pair.b.cm().listen({.service = test::kService, .backlog = 1});
  const auto ask = [&](std::uint32_t qpn) {
    auto request = pair.a.to(pair.b);
    request.offer.qpn = Qpn{qpn};
    ASSERT_TRUE(pair.a.cm().connect(request));
    pair.exchange();
  };
  ask(0x201);
  const CommHandle first = pair.b.expect(CmEventKind::kRequest).id;
  ask(0x202);
  EXPECT_TRUE(pair.b.events().empty());  // no room
  ASSERT_TRUE(pair.b.cm().seen(first));
  pair.wait(150 * kMillisecond);  // it retries
  const CommHandle second = pair.b.expect(CmEventKind::kRequest).id;
  ASSERT_TRUE(pair.b.cm().accept(first, pair.b.offer(), {}));
  ASSERT_TRUE(pair.b.cm().destroy(pair.listener));
  EXPECT_FALSE(pair.b.cm().seen(pair.listener));
  ASSERT_TRUE(pair.b.cm().seen(second));
}

}  // namespace
}  // namespace nerve::nic::peer_death_test
