// destroy() in every state, rejections, stale connections, TIMEWAIT: a waiting peer is notified,
// and in the end both tables are empty.
#include "tests/nic/connection/cm_pair.h"

namespace nerve::nic {
namespace {

using test::CmPair;
using test::CmProbe;
using test::kMillisecond;
using test::kSecond;
using wire::CmAttribute;
using wire::RejectReason;
using Kinds = std::vector<CmEventKind>;

// Both destroy what they own; after a while both tables are empty.
void expect_nothing_left(CmPair& pair) {
  for (const CommHandle id : {pair.active}) (void)pair.a.cm().destroy(id);
  for (const CommHandle id : {pair.passive, pair.listener}) (void)pair.b.cm().destroy(id);
  pair.wait(200 * kSecond);
  EXPECT_EQ(pair.a.cm().size(), 0U);
  EXPECT_EQ(pair.b.cm().size(), 0U);
  EXPECT_FALSE(pair.a.nic.next_deadline());
  EXPECT_FALSE(pair.b.nic.next_deadline());
}

RejectReason reason_of(const CmEvent& event) { return std::get<wire::CmRej>(event.message).reason; }

TEST(CmEnds, DestroyedBeforeTheReqIsSentSendsNothing) {
  CmPair pair;
  pair.active = *pair.a.cm().connect(pair.a.to(pair.b));
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  EXPECT_FALSE(pair.a.nic.wants_to_send());
  EXPECT_EQ(pair.a.cm().size(), 0U);
}

TEST(CmEnds, DestroyedWithTheReqOut) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  pair.exchange();
  EXPECT_EQ(reason_of(pair.b.expect(CmEventKind::kRejected)), RejectReason::kTimeout);
  EXPECT_FALSE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  expect_nothing_left(pair);
}

TEST(CmEnds, ARepForWhatIsGoneIsRejected) {
  CmPair pair;
  pair.open();
  pair.lose = [](const test::SeenMad& mad) { return mad.attribute() == CmAttribute::kRej; };
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  pair.exchange();
  pair.lose = nullptr;
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  EXPECT_EQ(reason_of(pair.b.expect(CmEventKind::kRejected)), RejectReason::kInvalidCommId);
  expect_nothing_left(pair);
}

// A process that is about to exit may wait for the answer to its DREQ.
TEST(CmEnds, FindsPeersWithAnUnansweredDreq) {
  CmPair pair;
  pair.establish();
  EXPECT_FALSE(pair.a.cm().parting_from_others_than({}));
  pair.lose = [](const test::SeenMad&) { return true; };
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  pair.exchange();
  EXPECT_TRUE(pair.a.cm().parting_from_others_than({}));
  EXPECT_TRUE(pair.a.cm().parting_from_others_than(std::array{pair.a.gid}));
  EXPECT_FALSE(pair.a.cm().parting_from_others_than(std::array{pair.a.gid, pair.b.gid}));
  pair.lose = nullptr;
  pair.wait(150 * kMillisecond);
  ASSERT_TRUE(pair.b.cm().disconnect(pair.passive, {}));
  pair.exchange();
  EXPECT_FALSE(pair.a.cm().parting_from_others_than({}));
}

TEST(CmEnds, DestroyedWithARequest) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().destroy(pair.passive));
  pair.exchange();
  EXPECT_EQ(reason_of(pair.a.expect(CmEventKind::kRejected)), RejectReason::kConsumer);
  expect_nothing_left(pair);
}

TEST(CmEnds, DestroyedWithAReply) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  (void)pair.a.expect(CmEventKind::kReply);
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  pair.exchange();
  const CmEvent event = pair.b.expect(CmEventKind::kRejected);
  EXPECT_EQ(reason_of(event), RejectReason::kConsumer);
  EXPECT_EQ(std::get<wire::CmRej>(event.message).subject, wire::CmSubject::kRep);
  expect_nothing_left(pair);
}

TEST(CmEnds, DestroyedWithTheRepOut) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  (void)pair.a.expect(CmEventKind::kReply);
  ASSERT_TRUE(pair.b.cm().destroy(pair.passive));
  pair.exchange();
  EXPECT_EQ(reason_of(pair.a.expect(CmEventKind::kRejected)), RejectReason::kConsumer);
  expect_nothing_left(pair);
}

TEST(CmEnds, DestroyedWhileConnected) {
  CmPair pair;
  pair.establish();
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  pair.exchange();
  (void)pair.b.expect(CmEventKind::kDisconnectRequested);
  EXPECT_EQ(pair.a.cm().size(), 1U);
  ASSERT_TRUE(pair.b.cm().destroy(pair.passive));
  pair.exchange();
  EXPECT_EQ(pair.said(), "a:DREQ b:DREP");
  EXPECT_EQ(pair.a.events(), Kinds{});
  expect_nothing_left(pair);
}

TEST(CmEnds, DestroyedInTimewaitItGoesOn) {
  CmPair pair;
  pair.establish();
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
  pair.exchange();
  ASSERT_TRUE(pair.b.cm().disconnect(pair.passive, {}));
  pair.exchange();
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  EXPECT_EQ(pair.a.cm().size(), 1U);
  pair.wait(536 * kMillisecond);
  EXPECT_EQ(pair.a.cm().size(), 1U);
  pair.wait(kMillisecond);
  EXPECT_EQ(pair.a.cm().size(), 0U);
  EXPECT_EQ(pair.a.events(), Kinds{});
  expect_nothing_left(pair);
}

TEST(CmEnds, ARejectedReplyIsRejectedAgain) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  int lost = 0;
  pair.lose = [&](const test::SeenMad& mad) {
    return mad.attribute() == CmAttribute::kRej && lost++ == 0;
  };
  ASSERT_TRUE(pair.a.cm().reject(pair.active, RejectReason::kConsumer, test::text("too late")));
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  pair.wait(kSecond);
  const CmEvent event = pair.b.expect(CmEventKind::kRejected);
  EXPECT_EQ(std::get<wire::CmRej>(event.message).private_data[0], std::byte{'t'});
  expect_nothing_left(pair);
}

TEST(CmEnds, DataImpliesTheRtu) {
  CmPair pair;
  pair.open();
  pair.lose = [](const test::SeenMad& mad) { return mad.attribute() == CmAttribute::kRtu; };
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  ASSERT_TRUE(pair.a.cm().confirm(pair.active, {}));
  pair.exchange();
  ASSERT_TRUE(pair.b.cm().established(pair.passive));
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kEstablished});
  ASSERT_TRUE(pair.b.cm().established(pair.passive));
  pair.wait(100 * kSecond);
  EXPECT_EQ(pair.b.events(), Kinds{});
  expect_nothing_left(pair);
}

TEST(CmEnds, AQpThatThePeerUsesAnewIsStale) {
  CmPair pair;
  pair.establish();
  // The peer has lost its state and starts with the same QPN.
  NicConfig config;
  config.begin_comm_ids_at = 1000;
  test::CmEnd reborn{1, config};
  const auto meet = [&](test::CmEnd& x, test::CmEnd& y) {
    TxBurst burst{8};
    for (int i = 0; i < 10; ++i) {
      x.nic.transmit(burst, pair.now);
      y.nic.receive(burst.frames(), pair.now);
      y.nic.transmit(burst, pair.now);
      x.nic.receive(burst.frames(), pair.now);
    }
  };
  CommHandle again = *reborn.cm().connect(reborn.to(pair.b));
  meet(reborn, pair.b);
  EXPECT_EQ(reason_of(reborn.expect(CmEventKind::kRejected)), RejectReason::kStaleConnection);
  // The old connection is torn down: the peer answers that it has none.
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kDisconnected});
  // Too early: the pair of QPNs is in TIMEWAIT.
  again = *reborn.cm().connect(reborn.to(pair.b));
  meet(reborn, pair.b);
  EXPECT_EQ(reason_of(reborn.expect(CmEventKind::kRejected)), RejectReason::kStaleConnection);
  pair.now += kSecond;
  pair.b.nic.expire(pair.now);
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kTimewaitOver});
  again = *reborn.cm().connect(reborn.to(pair.b));
  meet(reborn, pair.b);
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kRequest});
}

TEST(CmEnds, ARequestThatThePeerForgotIsStale) {
  CmProbe probe;
  ASSERT_TRUE(probe.end.cm().listen({.service = test::kService}));
  (void)probe.hear(probe.req());
  const CommHandle old = probe.end.expect(CmEventKind::kRequest).id;
  wire::CmReq req = probe.req();
  req.local_comm_id = wire::CommId{0x43};
  const auto said = probe.hear(req);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(std::get<wire::CmRej>(said[0].mad.message).reason, RejectReason::kStaleConnection);
  const CmEvent event = probe.end.expect(CmEventKind::kRejected);
  EXPECT_EQ(event.id, old);
  EXPECT_EQ(reason_of(event), RejectReason::kStaleConnection);
  EXPECT_TRUE(probe.hear(req).empty());
  EXPECT_EQ(probe.end.events(), Kinds{CmEventKind::kRequest});
}

TEST(CmEnds, TwoRepliesFromOneQp) {
  CmProbe probe;
  test::CmEnd peer{9};
  std::vector<wire::CommId> ids;
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(probe.end.cm().connect(probe.end.to(peer)));
    ids.push_back(std::get<wire::CmReq>(probe.listen()[0].mad.message).local_comm_id);
  }
  wire::CmRep rep{.local_comm_id = wire::CommId{1},
                  .remote_comm_id = ids[0],
                  .local_qpn = Qpn{0x33},
                  .local_ca_guid = 9};
  EXPECT_TRUE(probe.hear(rep).empty());
  (void)probe.end.expect(CmEventKind::kReply);
  rep.local_comm_id = wire::CommId{2};
  rep.remote_comm_id = ids[1];
  const auto said = probe.hear(rep);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(std::get<wire::CmRej>(said[0].mad.message).reason, RejectReason::kStaleConnection);
  EXPECT_EQ(probe.end.events(), (Kinds{CmEventKind::kRejected, CmEventKind::kRejected}));
}

TEST(CmEnds, LingeringOnesAreEvictedWhenFull) {
  NicConfig config;
  config.limits.max_connections = 4;
  CmProbe probe{config};
  ASSERT_TRUE(probe.end.cm().listen({.service = test::kService}));
  for (std::uint32_t i = 0; i < 20; ++i) {
    wire::CmReq req = probe.req();
    req.local_comm_id = wire::CommId{0x100 + i};
    req.local_qpn = Qpn{0x100 + i};
    (void)probe.hear(req);
    const CmEvent event = probe.end.expect(CmEventKind::kRequest);
    ASSERT_TRUE(probe.end.cm().destroy(event.id));
    EXPECT_EQ(probe.listen().size(), 1U);
  }
  EXPECT_EQ(probe.end.cm().size(), 4U);
}

TEST(CmEnds, AFullTableRefuses) {
  NicConfig config;
  config.limits.max_connections = 2;
  CmPair pair{config};
  ASSERT_TRUE(pair.a.cm().connect(pair.a.to(pair.b)));
  ASSERT_TRUE(pair.a.cm().connect(pair.a.to(pair.b)));
  const auto third = pair.a.cm().connect(pair.a.to(pair.b));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::kLimit);
  EXPECT_FALSE(pair.a.cm().listen({.service = test::kService}));
}

TEST(CmEnds, IdsAreReusedAsLateAsPossible) {
  NicConfig config;
  config.begin_comm_ids_at = (1U << kCommIdBits) - 2;
  test::CmProbe probe{config};
  test::CmEnd peer{9};
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 4; ++i) {
    const CommHandle id = *probe.end.cm().connect(probe.end.to(peer));
    ids.push_back(std::get<wire::CmReq>(probe.listen()[0].mad.message).local_comm_id.value());
    ASSERT_TRUE(probe.end.cm().destroy(id));
    (void)probe.listen();
  }
  constexpr std::uint32_t kFirst = 1U << kCommIdBits;  // of the process with number 1
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{2 * kFirst - 2, 2 * kFirst - 1, kFirst, kFirst + 1}));
}

}  // namespace
}  // namespace nerve::nic
