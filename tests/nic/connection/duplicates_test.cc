// Duplicate messages: because the answer was lost or late, or because the network duplicated them.
#include "tests/nic/connection/cm_pair.h"

namespace nerve::nic {
namespace {

using test::CmPair;
using test::kMillisecond;
using test::kSecond;
using wire::CmAttribute;
using Kinds = std::vector<CmEventKind>;

// Loses the first `count` messages of a kind.
auto losing(CmAttribute attribute, int count) {
  return
      [=](const test::SeenMad& mad) mutable { return mad.attribute() == attribute && count-- > 0; };
}

TEST(CmDuplicates, ALostReqIsSaidAgainAfterATenthOfASecond) {
  CmPair pair;
  pair.lose = losing(CmAttribute::kReq, 3);
  pair.listener = *pair.b.cm().listen({.service = test::kService});
  pair.active = *pair.a.cm().connect(pair.a.to(pair.b));
  pair.wait(699 * kMillisecond);
  EXPECT_EQ(pair.b.events(), Kinds{});
  pair.wait(2 * kMillisecond);
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kRequest});
  EXPECT_EQ(pair.said(), "a:REQ a:REQ a:REQ a:REQ");
  std::vector<Duration> gaps;
  for (std::size_t i = 1; i < pair.seen.size(); ++i) {
    gaps.push_back(pair.seen[i].when - pair.seen[i - 1].when);
    EXPECT_EQ(pair.seen[i].mad, pair.seen[0].mad);
  }
  EXPECT_EQ(gaps,
            (std::vector<Duration>{100 * kMillisecond, 200 * kMillisecond, 400 * kMillisecond}));
  EXPECT_EQ(pair.a.nic.counters().mads_retried, 3U);
}

TEST(CmDuplicates, AReqThatComesAgainBeforeItsAnswerIsIgnored) {
  CmPair pair;
  pair.open();
  pair.wait(kSecond);
  EXPECT_EQ(pair.said(), "a:REQ a:REQ a:REQ a:REQ");
  EXPECT_EQ(pair.b.events(), Kinds{});
  EXPECT_EQ(pair.b.nic.counters().mads_duplicate, 3U);
}

TEST(CmDuplicates, AReqThatComesAgainGetsTheMraAgain) {
  CmPair pair;
  pair.lose = losing(CmAttribute::kMra, 1);
  pair.open();
  ASSERT_TRUE(pair.b.cm().delay(pair.passive, 20));
  pair.wait(kSecond);
  EXPECT_EQ(pair.said(), "a:REQ b:MRA a:REQ b:MRA");
}

TEST(CmDuplicates, AReqThatComesAgainGetsTheRepAgain) {
  CmPair pair;
  pair.open();
  pair.lose = losing(CmAttribute::kRep, 1);
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.wait(150 * kMillisecond);
  // Both timers expired at the same time: the REQ was answered, and the REP repeated.
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kReply});
  EXPECT_EQ(pair.b.events(), Kinds{});
  EXPECT_GE(pair.b.nic.counters().mads_retried, 1U);
}

TEST(CmDuplicates, AReqThatComesAgainGetsTheRejAgain) {
  CmPair pair;
  pair.open();
  pair.lose = losing(CmAttribute::kRej, 1);
  ASSERT_TRUE(pair.b.cm().reject(pair.passive, wire::RejectReason::kConsumer, test::text("no")));
  ASSERT_TRUE(pair.b.cm().destroy(pair.passive));
  pair.wait(200 * kMillisecond);
  EXPECT_EQ(pair.said(), "a:REQ b:REJ a:REQ b:REJ");
  const CmEvent event = pair.a.expect(CmEventKind::kRejected);
  EXPECT_EQ(std::get<wire::CmRej>(event.message).private_data[0], std::byte{'n'});
  EXPECT_EQ(pair.b.events(), Kinds{});
  pair.wait(kSecond);
  EXPECT_EQ(pair.b.cm().size(), 1U);  // the listener
}

TEST(CmDuplicates, ARepThatComesAgainGetsTheRtuAgain) {
  CmPair pair;
  pair.lose = losing(CmAttribute::kRtu, 2);
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  ASSERT_TRUE(pair.a.cm().confirm(pair.active, test::text("ready")));
  pair.wait(kSecond);
  EXPECT_EQ(pair.said(), "a:REQ b:REP a:RTU b:REP a:RTU b:REP a:RTU");
  const CmEvent event = pair.b.expect(CmEventKind::kEstablished);
  EXPECT_EQ(std::get<wire::CmRtu>(event.message).private_data[0], std::byte{'r'});
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kReply});
}

TEST(CmDuplicates, ARepThatComesAgainBeforeTheRtuIsIgnored) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.wait(kSecond);
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kReply});
}

TEST(CmDuplicates, ARepThatComesAgainGetsTheMraAgain) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  pair.lose = losing(CmAttribute::kMra, 1);
  ASSERT_TRUE(pair.a.cm().delay(pair.active, 18));
  pair.wait(kSecond);
  EXPECT_EQ(pair.said(), "a:REQ b:REP a:MRA b:REP a:MRA");
}

TEST(CmDuplicates, ADreqImpliesALostRtu) {
  CmPair pair;
  pair.lose = losing(CmAttribute::kRtu, 100);
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  ASSERT_TRUE(pair.a.cm().confirm(pair.active, {}));
  pair.exchange();
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
  pair.exchange();
  EXPECT_EQ(pair.b.events(), (Kinds{CmEventKind::kEstablished, CmEventKind::kDisconnectRequested}));
}

TEST(CmDuplicates, ADreqThatComesAgainGetsTheDrepAgain) {
  CmPair pair;
  pair.establish();
  pair.lose = losing(CmAttribute::kDrep, 2);
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
  pair.exchange();
  ASSERT_TRUE(pair.b.cm().disconnect(pair.passive, test::text("so be it")));
  pair.wait(400 * kMillisecond);
  EXPECT_EQ(pair.said(), "a:DREQ b:DREP a:DREQ b:DREP a:DREQ b:DREP");
  const CmEvent event = pair.a.expect(CmEventKind::kDisconnected);
  EXPECT_EQ(std::get<wire::CmDrep>(event.message).private_data[0], std::byte{'s'});
}

TEST(CmDuplicates, ADreqForAnUnknownConnectionIsAnswered) {
  CmPair pair;
  pair.establish();
  pair.lose = losing(CmAttribute::kDrep, 4);
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
  pair.exchange();
  ASSERT_TRUE(pair.b.cm().destroy(pair.passive));
  pair.wait(5 * kSecond);
  EXPECT_EQ(pair.b.cm().size(), 1U);
  EXPECT_EQ(pair.a.events(), (Kinds{CmEventKind::kDisconnected, CmEventKind::kTimewaitOver}));
}

TEST(CmDuplicates, TwoDreqsThatCross) {
  CmPair pair;
  pair.establish();
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
  ASSERT_TRUE(pair.b.cm().disconnect(pair.passive, {}));
  // Both are sent before either arrives.
  TxBurst from_a{8};
  TxBurst from_b{8};
  pair.a.nic.transmit(from_a, pair.now);
  pair.b.nic.transmit(from_b, pair.now);
  pair.a.nic.receive(from_b.frames(), pair.now);
  pair.b.nic.receive(from_a.frames(), pair.now);
  pair.exchange();
  EXPECT_EQ(pair.said(), "a:DREP b:DREP");
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kDisconnected});
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kDisconnected});
  pair.wait(kSecond);
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kTimewaitOver});
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kTimewaitOver});
}

TEST(CmDuplicates, OfEveryMessageChangeNothing) {
  // Each MAD of a connection's life is delivered three times.
  CmPair pair;
  pair.lose = [&](const test::SeenMad& seen) {
    test::CmProbe copier;
    copier.peer = seen.flow.source;
    wire::Frame frame = copier.frame_of(seen.mad);
    frame.flow.destination = seen.flow.destination;
    for (int i = 0; i < 2; ++i) (seen.from_a ? pair.b : pair.a).nic.receive({&frame, 1}, pair.now);
    return false;
  };
  pair.establish();
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
  pair.exchange();
  (void)pair.b.expect(CmEventKind::kDisconnectRequested);
  ASSERT_TRUE(pair.b.cm().disconnect(pair.passive, {}));
  pair.wait(kSecond);
  EXPECT_EQ(pair.a.events(), (Kinds{CmEventKind::kDisconnected, CmEventKind::kTimewaitOver}));
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kTimewaitOver});
}

}  // namespace
}  // namespace nerve::nic
