// REQs that cannot be accepted: each is rejected with its reason, or dropped, and leaves nothing
// behind.
#include "tests/nic/connection/cm_pair.h"

namespace nerve::nic {
namespace {

using test::CmPair;
using test::CmProbe;
using test::kSecond;
using wire::RejectReason;
using Kinds = std::vector<CmEventKind>;

class CmRequests : public ::testing::Test {
 protected:
  void SetUp() override { listener = *probe.end.cm().listen({.service = test::kService}); }

  // The only REJ sent; it must be for this REQ.
  wire::CmRej rejection(const wire::CmReq& req) {
    const auto said = probe.hear(req);
    EXPECT_EQ(said.size(), 1U);
    if (said.size() != 1) return {};
    EXPECT_EQ(said[0].mad.transaction_id, 7U);
    EXPECT_EQ(said[0].flow.destination, probe.peer);
    const auto* rej = std::get_if<wire::CmRej>(&said[0].mad.message);
    EXPECT_NE(rej, nullptr);
    if (rej == nullptr) return {};
    EXPECT_EQ(rej->remote_comm_id, req.local_comm_id);
    return *rej;
  }
  // ... and nothing else happened.
  RejectReason refused(const wire::CmReq& req) {
    const std::uint32_t before = probe.end.cm().size();
    const RejectReason reason = rejection(req).reason;
    EXPECT_EQ(probe.end.events(), Kinds{});
    EXPECT_EQ(probe.end.cm().size(), before);
    return reason;
  }

  CmProbe probe;
  CommHandle listener{};
};

TEST_F(CmRequests, AreAcceptedIfTheyAreValid) {
  EXPECT_TRUE(probe.hear(probe.req()).empty());
  EXPECT_EQ(probe.end.expect(CmEventKind::kRequest).listener, listener);
}

TEST_F(CmRequests, ForNoListener) {
  wire::CmReq req = probe.req();
  req.service_id = wire::ServiceId{0x0106'0001};
  EXPECT_EQ(refused(req), RejectReason::kInvalidServiceId);
  EXPECT_EQ(probe.end.nic.counters().mads_rejected, 1U);
}

TEST_F(CmRequests, ForAListenerAtAnotherAddress) {
  const wire::Gid other = wire::Gid::ipv4(10, 0, 1, 1);
  ASSERT_TRUE(probe.end.nic.set_gid(1, other));
  ASSERT_TRUE(probe.end.cm().destroy(listener));
  const CommHandle at_other = *probe.end.cm().listen({.service = test::kService, .address = other});
  EXPECT_EQ(refused(probe.req()), RejectReason::kInvalidServiceId);
  // The more specific of two listeners gets the request.
  const CommHandle anywhere = *probe.end.cm().listen({.service = test::kService});
  (void)probe.hear(probe.req());
  EXPECT_EQ(probe.end.expect(CmEventKind::kRequest).listener, anywhere);
  wire::CmReq req = probe.req();
  req.local_comm_id = wire::CommId{0x43};
  req.local_qpn = Qpn{0x56};
  req.primary.remote_gid = other;
  wire::Frame frame = probe.frame_of({.message = req});
  frame.flow.destination = other;
  EXPECT_TRUE(probe.hear(frame).empty());
  EXPECT_EQ(probe.end.expect(CmEventKind::kRequest).listener, at_other);
}

TEST_F(CmRequests, ForAListenerOfOneFamily) {
  ASSERT_TRUE(probe.end.cm().destroy(listener));
  const CommHandle at_ipv6 =
      *probe.end.cm().listen({.service = test::kService, .any_of = CmFamily::kIpv6});
  EXPECT_EQ(refused(probe.req()), RejectReason::kInvalidServiceId);
  const CmListen ipv4{.service = test::kService, .any_of = CmFamily::kIpv4};
  const CommHandle at_ipv4 = *probe.end.cm().listen(ipv4);
  EXPECT_FALSE(probe.end.cm().listen(ipv4));
  (void)probe.hear(probe.req());
  EXPECT_EQ(probe.end.expect(CmEventKind::kRequest).listener, at_ipv4);
  // Destroying one listener frees its address; the other stays.
  ASSERT_TRUE(probe.end.cm().destroy(at_ipv4));
  EXPECT_FALSE(probe.end.cm().listen({.service = test::kService, .any_of = CmFamily::kIpv6}));
  EXPECT_TRUE(probe.end.cm().listen(ipv4));
  EXPECT_TRUE(probe.end.cm().destroy(at_ipv6));
}

TEST_F(CmRequests, AreAcceptedForSupportedTransports) {
  std::uint32_t number = 0x100;
  const auto takes = [&](wire::CmTransport transport, wire::CmExtendedTransport extended) {
    wire::CmReq req = probe.req();
    req.local_comm_id = wire::CommId{++number};
    req.local_qpn = Qpn{number};
    req.transport = transport;
    req.extended_transport = extended;
    return probe.hear(req).empty() && probe.end.events() == Kinds{CmEventKind::kRequest};
  };
  using wire::CmExtendedTransport;
  using wire::CmTransport;
  EXPECT_TRUE(takes(CmTransport::kRc, CmExtendedTransport::kNone));
  EXPECT_TRUE(takes(CmTransport::kUc, CmExtendedTransport::kNone));
  EXPECT_TRUE(takes(CmTransport::kExtended, CmExtendedTransport::kXrc));
  wire::CmReq req = probe.req();
  req.transport = CmTransport::kRd;
  EXPECT_EQ(refused(req), RejectReason::kInvalidTransport);
  req.transport = CmTransport::kExtended;
  EXPECT_EQ(refused(req), RejectReason::kInvalidTransport);
  req.extended_transport = static_cast<CmExtendedTransport>(5);
  EXPECT_EQ(refused(req), RejectReason::kInvalidTransport);
}

TEST_F(CmRequests, WithAnInvalidMtuAreRejected) {
  for (const std::uint8_t mtu : std::initializer_list<std::uint8_t>{0, 6, 15}) {
    wire::CmReq req = probe.req();
    req.path_mtu = mtu;
    const wire::CmRej rej = rejection(req);
    EXPECT_EQ(rej.reason, RejectReason::kInvalidMtu);
    ASSERT_EQ(rej.info().size(), 1U);
    EXPECT_EQ(rej.info()[0], std::byte{5 << 4});  // the acceptable MTU
  }
}

TEST_F(CmRequests, WithAnMtuAboveOursAreRejected) {
  CmProbe small{NicConfig{.max_mtu = Mtu::k1024}};
  ASSERT_TRUE(small.end.cm().listen({.service = test::kService}));
  wire::CmReq req = small.req();
  req.path_mtu = 4;
  const auto said = small.hear(req);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(std::get<wire::CmRej>(said[0].mad.message).reason, RejectReason::kInvalidMtu);
  req.path_mtu = 3;
  EXPECT_TRUE(small.hear(req).empty());
}

TEST_F(CmRequests, WithAForeignDataPathAreRejected) {
  wire::CmReq req = probe.req();
  req.primary.local_gid = wire::Gid::ipv4(10, 0, 0, 66);
  EXPECT_EQ(refused(req), RejectReason::kPrimaryGid);
  req = probe.req();
  req.primary.remote_gid = wire::Gid::ipv4(10, 0, 0, 66);
  EXPECT_EQ(refused(req), RejectReason::kPrimaryGid);
}

TEST_F(CmRequests, FromInvalidQpnsAreRejected) {
  for (const std::uint32_t qpn : {0U, 1U, 0xff'ffffU}) {
    wire::CmReq req = probe.req();
    req.local_qpn = Qpn{qpn};
    EXPECT_EQ(refused(req), RejectReason::kUnsupportedRequest);
  }
}

TEST_F(CmRequests, BeyondTheBacklogAreDroppedAndComeAgain) {
  CmPair pair;
  ASSERT_TRUE(pair.b.cm().listen({.service = test::kService, .backlog = 2}));
  for (std::uint32_t i = 0; i < 3; ++i) {
    CmConnect connect = pair.a.to(pair.b);
    connect.offer.qpn = Qpn{0x200 + i};
    ASSERT_TRUE(pair.a.cm().connect(connect));
  }
  pair.exchange();
  std::vector<CommHandle> ids;
  while (const auto event = pair.b.cm().next_event()) ids.push_back(event->id);
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_EQ(pair.b.nic.counters().mads_dropped, 1U);
  pair.wait(kSecond);
  EXPECT_EQ(pair.b.events(), Kinds{});
  ASSERT_TRUE(pair.b.cm().accept(ids[0], pair.b.offer(), {}));
  pair.wait(kSecond);
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kRequest});
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kReply});
}

TEST_F(CmRequests, AFloodOfThemLeavesNothing) {
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    wire::CmReq req = probe.req();
    req.local_comm_id = wire::CommId{0x1000 + i};
    req.local_qpn = Qpn{0x1000 + i};
    (void)probe.hear(req);
  }
  EXPECT_EQ(probe.end.cm().size(), 1025U);
  EXPECT_EQ(probe.end.events().size(), 1024U);
  ASSERT_TRUE(probe.end.cm().destroy(listener));
  // The rest belongs to the user, who never answers here.
  EXPECT_EQ(probe.end.cm().size(), 1024U);
}

TEST_F(CmRequests, AFloodWithoutAListenerIsBounded) {
  wire::CmReq req = probe.req();
  req.service_id = wire::ServiceId{1};
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    req.local_comm_id = wire::CommId{0x1000 + i};
    const wire::Frame frame = probe.frame_of({.message = req});
    probe.end.nic.receive({&frame, 1}, probe.now);
  }
  EXPECT_EQ(probe.listen().size(), 64U);
  EXPECT_EQ(probe.end.cm().size(), 1U);
}

TEST_F(CmRequests, NotYetDeliveredAreDestroyedWithTheListener) {
  (void)probe.hear(probe.req());
  ASSERT_TRUE(probe.end.cm().destroy(listener));
  const auto said = probe.listen();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(std::get<wire::CmRej>(said[0].mad.message).reason, RejectReason::kConsumer);
  EXPECT_EQ(probe.end.events(), Kinds{});
  probe.wait(kSecond);
  EXPECT_EQ(probe.end.cm().size(), 0U);
}

TEST_F(CmRequests, WithAnIdThatIsInUseButOtherContents) {
  (void)probe.hear(probe.req());
  wire::CmReq req = probe.req();
  req.local_qpn = Qpn{0x77};
  EXPECT_EQ(rejection(req).reason, RejectReason::kDuplicateLocalCommId);
  EXPECT_EQ(probe.end.events(), Kinds{CmEventKind::kRequest});
  // The same numbers at another host belong to another peer.
  probe.peer = wire::Gid::ipv4(10, 0, 0, 10);
  EXPECT_TRUE(probe.hear(probe.req()).empty());
  EXPECT_EQ(probe.end.events(), Kinds{CmEventKind::kRequest});
}

TEST_F(CmRequests, WithAnIdThatWasRejectedAreNew) {
  (void)probe.hear(probe.req());
  const CommHandle id = probe.end.expect(CmEventKind::kRequest).id;
  ASSERT_TRUE(probe.end.cm().reject(id, RejectReason::kConsumer, {}));
  (void)probe.listen();
  wire::CmReq req = probe.req();
  req.starting_psn = Psn{6};
  EXPECT_TRUE(probe.hear(req).empty());
  EXPECT_EQ(probe.end.events(), Kinds{CmEventKind::kRequest});
  ASSERT_TRUE(probe.end.cm().destroy(id));
}

}  // namespace
}  // namespace nerve::nic
