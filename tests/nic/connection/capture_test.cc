// A captured conversation of two Linux machines (tests/wire/data), with the engine in the place of
// either: it accepts Linux's messages and sends only messages that Linux sent.
#include "tests/nic/connection/cm_pair.h"
#include "tests/wire/hex_file.h"

namespace nerve::nic {
namespace {

using wire::Gid;

const Gid kActive = Gid::ipv4(10, 77, 0, 3);
const Gid kPassive = Gid::ipv4(10, 77, 0, 2);

template <class Message>
Message captured(const char* name) {
  return std::get<Message>(wire::CmMad::decode(test::read_hex(name))->message);
}

TEST(CmCaptureReplay, AsThePassiveSide) {
  test::CmProbe probe{{.guid = 1}};
  ASSERT_TRUE(probe.end.nic.set_gid(0, kPassive));
  probe.end.gid = kPassive;
  probe.peer = kActive;
  const auto req = captured<wire::CmReq>("cm_req.hex");
  ASSERT_TRUE(probe.end.cm().listen({.service = req.service_id}));
  const std::uint64_t transaction =
      wire::CmMad::decode(test::read_hex("cm_req.hex"))->transaction_id;
  EXPECT_TRUE(probe.hear(req, transaction).empty());
  const CmEvent request = probe.end.expect(CmEventKind::kRequest);
  EXPECT_EQ(std::get<wire::CmReq>(request.message), req);

  const auto theirs = captured<wire::CmRep>("cm_rep.hex");
  ASSERT_TRUE(probe.end.cm().accept(request.id,
                                    {.qpn = theirs.local_qpn,
                                     .psn = theirs.starting_psn,
                                     .responder_resources = theirs.responder_resources,
                                     .initiator_depth = theirs.initiator_depth,
                                     .rnr_retry_count = theirs.rnr_retry_count},
                                    {}));
  auto said = probe.listen();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].mad.transaction_id, transaction);
  auto ours = std::get<wire::CmRep>(said[0].mad.message);
  const wire::CommId own_id = ours.local_comm_id;
  ours.local_comm_id = theirs.local_comm_id;  // drawn at random
  ours.local_ca_guid = theirs.local_ca_guid;
  EXPECT_EQ(ours, theirs);

  auto rtu = captured<wire::CmRtu>("cm_rtu.hex");
  rtu.remote_comm_id = own_id;
  EXPECT_TRUE(probe.hear(rtu, transaction).empty());
  (void)probe.end.expect(CmEventKind::kEstablished);

  auto dreq = captured<wire::CmDreq>("cm_dreq.hex");
  dreq.remote_comm_id = own_id;
  EXPECT_TRUE(probe.hear(dreq, 5).empty());
  (void)probe.end.expect(CmEventKind::kDisconnectRequested);
  ASSERT_TRUE(probe.end.cm().disconnect(request.id, {}));
  said = probe.listen();
  ASSERT_EQ(said.size(), 1U);
  auto drep = captured<wire::CmDrep>("cm_drep.hex");
  drep.local_comm_id = own_id;
  EXPECT_EQ(said[0].mad, (wire::CmMad{5, drep}));
}

TEST(CmCaptureReplay, AsTheActiveSide) {
  test::CmProbe probe{{.guid = 1}};
  ASSERT_TRUE(probe.end.nic.set_gid(0, kActive));
  probe.end.gid = kActive;
  probe.peer = kPassive;
  const auto theirs = captured<wire::CmReq>("cm_req.hex");
  const CommHandle id = *probe.end.cm().connect(
      {.route = {.local = kActive, .remote = kPassive, .flow_label = theirs.primary.flow_label},
       .service = theirs.service_id,
       .offer = {.qpn = theirs.local_qpn,
                 .psn = theirs.starting_psn,
                 .responder_resources = theirs.responder_resources,
                 .initiator_depth = theirs.initiator_depth,
                 .rnr_retry_count = theirs.rnr_retry_count},
       .path_mtu = theirs.path_mtu,
       .retry_count = theirs.retry_count,
       .local_ack_timeout = theirs.primary.local_ack_timeout,
       .private_data = theirs.private_data});
  auto said = probe.listen();
  ASSERT_EQ(said.size(), 1U);
  auto ours = std::get<wire::CmReq>(said[0].mad.message);
  const wire::CommId own_id = ours.local_comm_id;
  ours.local_comm_id = theirs.local_comm_id;
  ours.local_ca_guid = theirs.local_ca_guid;
  EXPECT_EQ(ours, theirs);

  auto rep = captured<wire::CmRep>("cm_rep.hex");
  rep.remote_comm_id = own_id;
  EXPECT_TRUE(probe.hear(rep, said[0].mad.transaction_id).empty());
  EXPECT_EQ(std::get<wire::CmRep>(probe.end.expect(CmEventKind::kReply).message), rep);
  ASSERT_TRUE(probe.end.cm().confirm(id, {}));
  auto rtu = captured<wire::CmRtu>("cm_rtu.hex");
  rtu.local_comm_id = own_id;
  const std::uint64_t transaction = said[0].mad.transaction_id;
  said = probe.listen();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].mad, (wire::CmMad{transaction, rtu}));

  ASSERT_TRUE(probe.end.cm().disconnect(id, {}));
  said = probe.listen();
  ASSERT_EQ(said.size(), 1U);
  auto dreq = captured<wire::CmDreq>("cm_dreq.hex");
  dreq.local_comm_id = own_id;
  EXPECT_EQ(std::get<wire::CmDreq>(said[0].mad.message), dreq);
  auto drep = captured<wire::CmDrep>("cm_drep.hex");
  drep.remote_comm_id = own_id;
  EXPECT_TRUE(probe.hear(drep, said[0].mad.transaction_id).empty());
  (void)probe.end.expect(CmEventKind::kDisconnected);
}

TEST(CmCaptureReplay, TheRejOfAnUnknownService) {
  test::CmProbe probe;
  wire::CmReq req = probe.req();
  const auto theirs = captured<wire::CmRej>("cm_rej.hex");
  req.local_comm_id = theirs.remote_comm_id;
  const auto said = probe.hear(req);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(std::get<wire::CmRej>(said[0].mad.message), theirs);
}

TEST(CmCaptureReplay, AsTheServerOfAServiceLookup) {
  test::CmProbe probe;
  const auto theirs = captured<wire::CmSidrReq>("cm_sidr_req.hex");
  ASSERT_TRUE(probe.end.cm().listen({.service = theirs.service_id}));
  EXPECT_TRUE(probe.hear(theirs, 5).empty());
  const CmEvent asked = probe.end.expect(CmEventKind::kResolveRequest);
  EXPECT_EQ(std::get<wire::CmSidrReq>(asked.message), theirs);
  auto linux_rep = captured<wire::CmSidrRep>("cm_sidr_rep.hex");
  ASSERT_TRUE(probe.end.cm().resolved(asked.id, {.qpn = linux_rep.qpn, .qkey = linux_rep.qkey}));
  const auto said = probe.listen();
  ASSERT_EQ(said.size(), 1U);
  linux_rep.request_id = theirs.request_id;
  EXPECT_EQ(said[0].mad, (wire::CmMad{5, linux_rep}));
}

TEST(CmCaptureReplay, AsTheClientOfAServiceLookup) {
  test::CmProbe probe;
  const auto theirs = captured<wire::CmSidrReq>("cm_sidr_req.hex");
  ASSERT_TRUE(probe.end.cm().resolve({.route = {.local = probe.end.gid, .remote = probe.peer},
                                      .service = theirs.service_id,
                                      .private_data = theirs.private_data}));
  const auto said = probe.listen();
  ASSERT_EQ(said.size(), 1U);
  auto ours = std::get<wire::CmSidrReq>(said[0].mad.message);
  auto rep = captured<wire::CmSidrRep>("cm_sidr_rep.hex");
  rep.request_id = std::exchange(ours.request_id, theirs.request_id);  // drawn at random
  EXPECT_EQ(ours, theirs);
  EXPECT_TRUE(probe.hear(rep, said[0].mad.transaction_id).empty());
  EXPECT_EQ(std::get<wire::CmSidrRep>(probe.end.expect(CmEventKind::kResolved).message), rep);
}

// Linux answers a repeated REQ with an MRA while the program has not decided.
TEST(CmCaptureReplay, AnMraStopsTheRepeats) {
  test::CmProbe probe;
  ASSERT_TRUE(probe.end.cm().connect({.route = {.local = probe.end.gid, .remote = probe.peer},
                                      .service = test::kService,
                                      .offer = probe.end.offer(),
                                      .path_mtu = 5,
                                      .local_ack_timeout = 16}));
  const auto said = probe.listen();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_LE(*probe.end.nic.next_deadline(), probe.now + test::kSecond);
  auto mra = captured<wire::CmMra>("cm_mra.hex");
  mra.remote_comm_id = std::get<wire::CmReq>(said[0].mad.message).local_comm_id;
  EXPECT_TRUE(probe.hear(mra, said[0].mad.transaction_id).empty());
  EXPECT_GT(*probe.end.nic.next_deadline(), probe.now + 60 * test::kSecond);  // it asked for 68
  EXPECT_TRUE(probe.end.events().empty());
}

}  // namespace
}  // namespace nerve::nic
