// A connection between two engines without loss: the messages sent, the events raised, and that
// each side receives what the other sent.
#include "tests/nic/connection/cm_pair.h"

namespace nerve::nic {
namespace {

using test::CmPair;
using test::text;
using Kinds = std::vector<CmEventKind>;

template <std::size_t N>
bool begins_with(const wire::PrivateData<N>& data, const std::vector<std::byte>& words) {
  return std::equal(words.begin(), words.end(), data.begin());
}

TEST(CmConnect, RunsThroughTheWholeLifeOfAConnection) {
  CmPair pair;
  pair.listener = *pair.b.cm().listen({.service = test::kService, .cookie = 77});
  CmConnect connect = pair.a.to(pair.b);
  const auto hello = text("hello");
  connect.private_data = hello;
  connect.cookie = 11;
  connect.offer.srq = true;
  pair.active = *pair.a.cm().connect(connect);
  pair.exchange();

  const CmEvent request = pair.b.expect(CmEventKind::kRequest);
  EXPECT_EQ(request.listener, pair.listener);
  EXPECT_EQ(request.cookie, 77U);
  EXPECT_EQ(request.flow.source, pair.a.gid);
  EXPECT_EQ(request.flow.destination, pair.b.gid);
  const auto& req = std::get<wire::CmReq>(request.message);
  EXPECT_EQ(req.service_id, test::kService);
  EXPECT_EQ(req.local_qpn, pair.a.qpn);
  EXPECT_EQ(req.local_ca_guid, pair.a.guid);
  EXPECT_EQ(req.starting_psn, pair.a.offer().psn);
  EXPECT_EQ(req.responder_resources, 4);
  EXPECT_EQ(req.initiator_depth, 3);
  EXPECT_TRUE(req.srq);
  EXPECT_EQ(req.primary.local_gid, pair.a.gid);
  EXPECT_EQ(req.primary.remote_gid, pair.b.gid);
  EXPECT_EQ(req.primary.local_lid, 0xffff);
  EXPECT_TRUE(begins_with(req.private_data, hello));

  ASSERT_TRUE(pair.b.cm().set_cookie(request.id, 22));
  const auto welcome = text("welcome");
  ASSERT_TRUE(pair.b.cm().accept(request.id, pair.b.offer(), welcome));
  pair.exchange();
  const CmEvent reply = pair.a.expect(CmEventKind::kReply);
  EXPECT_EQ(reply.id, pair.active);
  EXPECT_EQ(reply.cookie, 11U);
  const auto& rep = std::get<wire::CmRep>(reply.message);
  EXPECT_EQ(rep.local_qpn, pair.b.qpn);
  EXPECT_EQ(rep.local_ca_guid, pair.b.guid);
  EXPECT_EQ(rep.starting_psn, pair.b.offer().psn);
  EXPECT_TRUE(begins_with(rep.private_data, welcome));

  const auto thanks = text("thanks");
  ASSERT_TRUE(pair.a.cm().confirm(pair.active, thanks));
  pair.exchange();
  const CmEvent established = pair.b.expect(CmEventKind::kEstablished);
  EXPECT_EQ(established.cookie, 22U);
  EXPECT_TRUE(begins_with(std::get<wire::CmRtu>(established.message).private_data, thanks));

  const auto bye = text("bye");
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, bye));
  pair.exchange();
  const CmEvent asked = pair.b.expect(CmEventKind::kDisconnectRequested);
  EXPECT_EQ(std::get<wire::CmDreq>(asked.message).remote_qpn, pair.b.qpn);
  EXPECT_TRUE(begins_with(std::get<wire::CmDreq>(asked.message).private_data, bye));
  const auto farewell = text("farewell");
  ASSERT_TRUE(pair.b.cm().disconnect(request.id, farewell));
  pair.exchange();
  const CmEvent disconnected = pair.a.expect(CmEventKind::kDisconnected);
  EXPECT_TRUE(begins_with(std::get<wire::CmDrep>(disconnected.message).private_data, farewell));
  EXPECT_EQ(pair.said(), "a:REQ b:REP a:RTU a:DREQ b:DREP");

  pair.wait(test::kSecond);
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kTimewaitOver});
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kTimewaitOver});
  EXPECT_EQ(pair.said(), "");
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  ASSERT_TRUE(pair.b.cm().destroy(request.id));
  ASSERT_TRUE(pair.b.cm().destroy(pair.listener));
  EXPECT_EQ(pair.a.cm().size(), 0U);
  EXPECT_EQ(pair.b.cm().size(), 0U);
  EXPECT_FALSE(pair.a.nic.next_deadline());
  EXPECT_FALSE(pair.a.nic.wants_to_send());
}

TEST(CmConnect, ThePassiveSideMayDisconnectToo) {
  CmPair pair;
  pair.establish();
  ASSERT_TRUE(pair.b.cm().disconnect(pair.passive, {}));
  pair.exchange();
  (void)pair.a.expect(CmEventKind::kDisconnectRequested);
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
  pair.exchange();
  (void)pair.b.expect(CmEventKind::kDisconnected);
  EXPECT_EQ(pair.said(), "b:DREQ a:DREP");
}

TEST(CmConnect, UcAndXrcToo) {
  using wire::CmTransport;
  for (const CmTransport transport : {CmTransport::kUc, CmTransport::kExtended}) {
    CmPair pair;
    pair.listener = *pair.b.cm().listen({.service = test::kService});
    CmConnect connect = pair.a.to(pair.b);
    connect.transport = transport;
    const bool xrc = transport == CmTransport::kExtended;
    if (xrc) connect.extended_transport = wire::CmExtendedTransport::kXrc;
    pair.active = *pair.a.cm().connect(connect);
    pair.exchange();
    const CmEvent request = pair.b.expect(CmEventKind::kRequest);
    EXPECT_EQ(std::get<wire::CmReq>(request.message).transport, transport);
    ASSERT_TRUE(pair.b.cm().accept(request.id, pair.b.offer(), {}));
    pair.exchange();
    const CmEvent reply = pair.a.expect(CmEventKind::kReply);
    const auto& rep = std::get<wire::CmRep>(reply.message);
    EXPECT_EQ(rep.local_qpn, pair.b.qpn);
    EXPECT_EQ(rep.local_eecn, xrc ? pair.b.qpn.value() : 0U);
    ASSERT_TRUE(pair.a.cm().confirm(pair.active, {}));
    pair.exchange();
    (void)pair.b.expect(CmEventKind::kEstablished);
  }
}

TEST(CmConnect, ToItself) {
  // The driver loops back what is sent to our own address.
  CmPair pair;
  ASSERT_TRUE(pair.a.cm().listen({.service = test::kService}));
  const CommHandle active = *pair.a.cm().connect(pair.a.to(pair.a));
  TxBurst burst{8};
  const auto carry = [&] {
    while (pair.a.nic.transmit(burst, pair.now) > 0) pair.a.nic.receive(burst.frames(), pair.now);
  };
  carry();
  const CommHandle passive = pair.a.expect(CmEventKind::kRequest).id;
  CmOffer offer = pair.a.offer();
  offer.qpn = Qpn{0x777};
  ASSERT_TRUE(pair.a.cm().accept(passive, offer, {}));
  carry();
  EXPECT_EQ(pair.a.expect(CmEventKind::kReply).id, active);
  ASSERT_TRUE(pair.a.cm().confirm(active, {}));
  carry();
  EXPECT_EQ(pair.a.expect(CmEventKind::kEstablished).id, passive);
}

TEST(CmConnect, TenThousandTimesLeavesNothing) {
  CmPair pair;
  pair.listener = *pair.b.cm().listen({.service = test::kService});
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    CmConnect connect = pair.a.to(pair.b);
    connect.offer.qpn = Qpn{0x1000 + i};
    pair.active = *pair.a.cm().connect(connect);
    pair.exchange();
    const CommHandle passive = pair.b.expect(CmEventKind::kRequest).id;
    CmOffer offer = pair.b.offer();
    offer.qpn = Qpn{0x1000 + i};
    ASSERT_TRUE(pair.b.cm().accept(passive, offer, {}));
    pair.exchange();
    (void)pair.a.expect(CmEventKind::kReply);
    ASSERT_TRUE(pair.a.cm().confirm(pair.active, {}));
    pair.exchange();
    (void)pair.b.expect(CmEventKind::kEstablished);
    ASSERT_TRUE(pair.a.cm().destroy(pair.active));
    pair.exchange();
    (void)pair.b.expect(CmEventKind::kDisconnectRequested);
    ASSERT_TRUE(pair.b.cm().destroy(passive));
    pair.exchange();
    pair.seen.clear();
  }
  EXPECT_LE(pair.a.cm().size(), 10'000U);  // all in TIMEWAIT: no time has passed
  pair.wait(test::kSecond);
  EXPECT_EQ(pair.a.cm().size(), 0U);
  EXPECT_EQ(pair.b.cm().size(), 1U);
  EXPECT_FALSE(pair.a.nic.next_deadline());
}

}  // namespace
}  // namespace nerve::nic
