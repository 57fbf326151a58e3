// MADs with a forged source, IDs or contents, and invalid calls.
#include "tests/nic/connection/cm_pair.h"

namespace nerve::nic {
namespace {

using test::CmPair;
using test::CmProbe;
using test::kSecond;
using Kinds = std::vector<CmEventKind>;

class CmHostile : public ::testing::Test {
 protected:
  void SetUp() override {
    pair.establish();
    const auto& req = std::get<wire::CmReq>(pair.seen[0].mad.message);
    const auto& rep = std::get<wire::CmRep>(pair.seen[1].mad.message);
    a_id = req.local_comm_id;
    b_id = rep.local_comm_id;
  }
  // B receives it as if from `source` and must ignore it.
  void expect_ignored(const wire::CmMessage& message, const wire::Gid& source) {
    CmProbe writer;
    writer.peer = source;
    wire::Frame frame = writer.frame_of({.transaction_id = 1, .message = message});
    frame.flow.destination = pair.b.gid;
    const std::uint64_t bad = pair.b.nic.counters().mads_bad;
    pair.b.nic.receive({&frame, 1}, pair.now);
    EXPECT_EQ(pair.b.nic.counters().mads_bad, bad + 1);
    EXPECT_EQ(pair.b.events(), Kinds{});
    EXPECT_FALSE(pair.b.nic.wants_to_send());
  }

  CmPair pair;
  wire::CommId a_id{};
  wire::CommId b_id{};
  wire::Gid stranger = wire::Gid::ipv4(10, 0, 0, 66);
};

TEST_F(CmHostile, MessagesFromAnotherHostAreIgnored) {
  expect_ignored(
      wire::CmDreq{.local_comm_id = a_id, .remote_comm_id = b_id, .remote_qpn = pair.b.qpn},
      stranger);
  expect_ignored(wire::CmRej{.local_comm_id = a_id, .remote_comm_id = b_id}, stranger);
  expect_ignored(wire::CmRep{.local_comm_id = a_id, .remote_comm_id = b_id}, stranger);
  expect_ignored(wire::CmRtu{.local_comm_id = a_id, .remote_comm_id = b_id}, stranger);
  expect_ignored(wire::CmMra{.local_comm_id = a_id, .remote_comm_id = b_id}, stranger);
  expect_ignored(wire::CmDrep{.local_comm_id = a_id, .remote_comm_id = b_id}, stranger);
  expect_ignored(wire::CmSidrRep{.request_id = b_id}, stranger);
}

TEST_F(CmHostile, WithAnotherIdThanThePeers) {
  const wire::CommId other{a_id.value() + 1};
  expect_ignored(
      wire::CmDreq{.local_comm_id = other, .remote_comm_id = b_id, .remote_qpn = pair.b.qpn},
      pair.a.gid);
  expect_ignored(wire::CmRej{.local_comm_id = other, .remote_comm_id = b_id}, pair.a.gid);
  expect_ignored(wire::CmRtu{.local_comm_id = other, .remote_comm_id = b_id}, pair.a.gid);
  expect_ignored(wire::CmDrep{.local_comm_id = other, .remote_comm_id = b_id}, pair.a.gid);
}

TEST_F(CmHostile, ADreqForAnotherQp) {
  expect_ignored(
      wire::CmDreq{.local_comm_id = a_id, .remote_comm_id = b_id, .remote_qpn = Qpn{0x99}},
      pair.a.gid);
}

TEST_F(CmHostile, AStrangerCannotMakeAConnectionStale) {
  CmProbe writer;
  writer.peer = stranger;
  wire::CmReq req = std::get<wire::CmReq>(pair.seen[0].mad.message);
  req.local_comm_id = wire::CommId{5};
  req.primary.local_gid = stranger;
  wire::Frame frame = writer.frame_of({.message = req});
  frame.flow.destination = pair.b.gid;
  pair.b.nic.receive({&frame, 1}, pair.now);
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kRequest});
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
  pair.exchange();
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kDisconnectRequested});
}

TEST(CmHostileFrames, AreCountedAndDropped) {
  CmProbe probe;
  ASSERT_TRUE(probe.end.cm().listen({.service = test::kService}));
  const auto counted = [&](std::uint64_t Counters::*counter, auto change) {
    wire::Frame frame = probe.frame_of({.message = probe.req()});
    change(frame);
    const std::uint64_t before = probe.end.nic.counters().*counter;
    EXPECT_TRUE(probe.hear(frame).empty());
    EXPECT_EQ(probe.end.events(), Kinds{});
    return probe.end.nic.counters().*counter == before + 1;
  };
  using wire::Frame;
  EXPECT_TRUE(counted(&Counters::dropped_bad_qkey, [](Frame& f) { f.headers.deth.qkey = 0; }));
  EXPECT_TRUE(
      counted(&Counters::dropped_bad_pkey, [](Frame& f) { f.headers.bth.pkey = PKey{0x1234}; }));
  EXPECT_TRUE(counted(&Counters::dropped_wrong_address,
                      [](Frame& f) { f.flow.destination = wire::Gid::ipv4(10, 0, 0, 2); }));
  EXPECT_TRUE(counted(&Counters::dropped_wrong_transport, [](Frame& f) {
    f.headers.bth.opcode = wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly);
  }));
  EXPECT_TRUE(counted(&Counters::mads_bad, [](Frame& f) { f.headers.deth.source_qp = Qpn{0x22}; }));
  wire::Piece piece;
  EXPECT_TRUE(counted(&Counters::mads_bad, [&](Frame& f) {
    piece = f.payload[0];
    piece.length = 255;
    f.payload = {&piece, 1};
    f.payload_length = 255;
  }));
  for (const std::size_t at : {0U, 1U, 2U, 3U}) {  // version, class, class version, method
    EXPECT_TRUE(counted(&Counters::mads_bad, [&](Frame& f) {
      reinterpret_cast<std::byte*>(f.payload[0].address)[at] ^= std::byte{0x40};
    }));
  }
  EXPECT_TRUE(counted(&Counters::mads_bad, [&](Frame& f) {
    reinterpret_cast<std::byte*>(f.payload[0].address)[17] = std::byte{0x19};  // LAP
  }));
}

TEST(CmHostileFrames, MayComeInPieces) {
  CmProbe probe;
  ASSERT_TRUE(probe.end.cm().listen({.service = test::kService}));
  wire::Frame frame = probe.frame_of({.message = probe.req()});
  const std::uint64_t at = frame.payload[0].address;
  const std::array<wire::Piece, 3> pieces{{{at, 100}, {at + 100, 0}, {at + 100, 156}}};
  frame.payload = pieces;
  EXPECT_TRUE(probe.hear(frame).empty());
  (void)probe.end.expect(CmEventKind::kRequest);
}

TEST(CmHostileFrames, MessagesForUnknownIdsAreAnsweredOrIgnored) {
  CmProbe probe;
  const wire::CommId theirs{1};
  const wire::CommId ours{2};
  auto said = probe.hear(wire::CmRep{.local_comm_id = theirs, .remote_comm_id = ours});
  ASSERT_EQ(said.size(), 1U);
  const auto& rej = std::get<wire::CmRej>(said[0].mad.message);
  EXPECT_EQ(rej.reason, wire::RejectReason::kInvalidCommId);
  EXPECT_EQ(rej.local_comm_id, ours);
  EXPECT_EQ(rej.remote_comm_id, theirs);
  said = probe.hear(wire::CmDreq{.local_comm_id = theirs, .remote_comm_id = ours}, 99);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].mad,
            (wire::CmMad{99, wire::CmDrep{.local_comm_id = ours, .remote_comm_id = theirs}}));
  EXPECT_TRUE(probe.hear(wire::CmRtu{.remote_comm_id = ours}).empty());
  EXPECT_TRUE(probe.hear(wire::CmMra{.remote_comm_id = ours}).empty());
  EXPECT_TRUE(probe.hear(wire::CmRej{.remote_comm_id = ours}).empty());
  EXPECT_TRUE(probe.hear(wire::CmDrep{.remote_comm_id = ours}).empty());
  EXPECT_TRUE(probe.hear(wire::CmSidrRep{.request_id = ours}).empty());
}

TEST(CmFrames, LookLikeThoseOfLinux) {
  CmPair pair;
  pair.a.nic.set_port_active(true);
  CmConnect connect = pair.a.to(pair.b);
  connect.route.traffic_class = 0x68;
  connect.route.hop_limit = 7;
  pair.active = *pair.a.cm().connect(connect);
  pair.exchange();
  const test::SeenMad& req = pair.seen[0];
  EXPECT_EQ(req.flow.source_port, 55410);
  EXPECT_EQ(req.flow.traffic_class, 0x68);
  EXPECT_EQ(req.flow.hop_limit, 7);
  EXPECT_EQ(req.headers.bth.dest_qp, Qpn{1});
  EXPECT_EQ(req.headers.bth.pkey, PKey{0xffff});
  EXPECT_EQ(req.headers.bth.psn, Psn{0});
  EXPECT_EQ(req.headers.deth, (wire::Deth{.qkey = 0x8001'0000, .source_qp = Qpn{1}}));
  pair.wait(kSecond);
  EXPECT_EQ(pair.b.nic.counters().mads_sent, 1U);  // a REJ: no listener
}

TEST(CmFrames, AGsiQpOfTheUserTakesQp1) {
  CmProbe probe;
  ASSERT_TRUE(probe.end.cm().listen({.service = test::kService}));
  const PdHandle pd = *probe.end.nic.alloc_pd();
  const CqHandle cq = *probe.end.nic.create_cq({.depth = 4});
  const QpHandle gsi = *probe.end.nic.create_qp(
      {.type = QpType::kGsi, .pd = pd, .send_cq = cq, .recv_cq = cq, .caps = {.max_recv_wr = 1}});
  EXPECT_TRUE(probe.hear(probe.req()).empty());
  EXPECT_EQ(probe.end.events(), Kinds{});
  ASSERT_TRUE(probe.end.nic.destroy_qp(gsi));
  EXPECT_TRUE(probe.hear(probe.req()).empty());
  EXPECT_EQ(probe.end.events(), Kinds{CmEventKind::kRequest});
}

TEST(CmCalls, WithInvalidArgumentsFail) {
  CmPair pair;
  const auto refused = [&](auto change) {
    CmConnect connect = pair.a.to(pair.b);
    change(connect);
    return !pair.a.cm().connect(connect) && pair.a.cm().size() == 0;
  };
  const std::vector<std::byte> much(1000);
  EXPECT_TRUE(refused([&](CmConnect& c) { c.private_data = Bytes{much}.first(93); }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.route.local = wire::Gid::ipv4(1, 2, 3, 4); }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.route.remote = {}; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.route.remote = wire::Gid::ipv4(224, 0, 0, 1); }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.route.remote.bytes[0] = std::byte{0xfd}; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.route.flow_label = 1U << 20U; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.route.response_timeout = 32; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.route.max_retries = 16; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.path_mtu = 0; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.path_mtu = 6; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.retry_count = 8; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.offer.rnr_retry_count = 8; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.local_ack_timeout = 32; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.transport = wire::CmTransport::kRd; }));
  EXPECT_TRUE(refused([](CmConnect& c) { c.transport = wire::CmTransport::kExtended; }));
  pair.open();
  EXPECT_FALSE(pair.b.cm().listen({.service = test::kService}));
  EXPECT_FALSE(pair.b.cm().listen({.address = wire::Gid::ipv4(1, 2, 3, 4)}));
  EXPECT_FALSE(pair.b.cm().accept(pair.listener, pair.b.offer(), {}));
  EXPECT_FALSE(pair.b.cm().accept(pair.passive, pair.b.offer(), Bytes{much}.first(197)));
  EXPECT_FALSE(pair.b.cm().reject(pair.passive, {}, Bytes{much}.first(149)));
  EXPECT_FALSE(pair.b.cm().delay(pair.passive, 32));
  EXPECT_FALSE(pair.b.cm().confirm(pair.passive, {}));
  EXPECT_FALSE(pair.b.cm().disconnect(pair.passive, {}));
  EXPECT_FALSE(pair.b.cm().established(pair.passive));
  EXPECT_FALSE(pair.b.cm().resolved(pair.passive, {}));
  EXPECT_FALSE(pair.a.cm().reject(pair.active, {}, {}));
  EXPECT_FALSE(pair.a.cm().delay(pair.active, 1));
  EXPECT_FALSE(pair.a.cm().confirm({}, {}));
  EXPECT_FALSE(pair.a.cm().destroy({}));
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  EXPECT_FALSE(pair.a.cm().destroy(pair.active));
  EXPECT_FALSE(pair.a.cm().set_cookie(pair.active, 1));
}

}  // namespace
}  // namespace nerve::nic
