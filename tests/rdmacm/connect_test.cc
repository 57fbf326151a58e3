// Goal: two identifiers of one process connect through the device as they would through the
// kernel's.
#include <gtest/gtest.h>

#include "tests/rdmacm/connection.h"

namespace rdmacm_test {
namespace {

TEST_F(Connection, CarriesPrivateDataBothWays) {
  ask("who is there?");
  EXPECT_EQ(request.uid, kListenerUid);
  EXPECT_EQ(said(request.param.conn), "who is there?");
  EXPECT_EQ(request.param.conn.qp_num, active_qpn);
  EXPECT_EQ(request.param.conn.responder_resources, 4);  // what the peer may have outstanding
  EXPECT_EQ(request.param.conn.initiator_depth, 3);
  ASSERT_EQ(server.accept(passive, kPassiveUid, passive_qpn, "me"), 0);
  response = client.expect(EventKind::kConnectResponse);
  EXPECT_EQ(said(response.param.conn), "me");
  EXPECT_EQ(response.param.conn.qp_num, passive_qpn);
  ASSERT_EQ(client.confirm(active), 0);
  EXPECT_EQ(server.expect(EventKind::kEstablished).uid, kPassiveUid);
}

TEST_F(Connection, SetsTheAgreedQpAttributes) {
  meet();
  ib_uverbs_qp_attr ours{}, theirs{};
  ASSERT_EQ(client.qp_attributes(active, 2, ours), 0);
  ASSERT_EQ(server.qp_attributes(passive, 2, theirs), 0);
  EXPECT_EQ(ours.dest_qp_num, passive_qpn);
  EXPECT_EQ(theirs.dest_qp_num, active_qpn);
  EXPECT_EQ(ours.path_mtu, theirs.path_mtu);
  EXPECT_EQ(ours.ah_attr.is_global, 1);
  ib_uverbs_qp_attr send_ours{}, send_theirs{};
  ASSERT_EQ(client.qp_attributes(active, 3, send_ours), 0);
  ASSERT_EQ(server.qp_attributes(passive, 3, send_theirs), 0);
  EXPECT_EQ(ours.rq_psn, send_theirs.sq_psn);
  EXPECT_EQ(theirs.rq_psn, send_ours.sq_psn);
  EXPECT_EQ(send_ours.retry_cnt, 7);
  EXPECT_EQ(send_ours.timeout, send_theirs.timeout);
}

TEST_F(Connection, ReportsTheAddressesOfBothEnds) {
  meet();
  rdma_ucm_query_route_resp ours{}, theirs{};
  ASSERT_EQ(client.query(active, ours), 0);
  ASSERT_EQ(server.query(passive, theirs), 0);
  EXPECT_EQ(ntohs(ours.dst_addr.sin6_port), port);
  EXPECT_EQ(std::memcmp(&ours.src_addr, &theirs.dst_addr, sizeof(sockaddr_in)), 0);
  EXPECT_EQ(std::memcmp(&ours.dst_addr, &theirs.src_addr, sizeof(sockaddr_in)), 0);
  EXPECT_EQ(ours.num_paths, 1U);
  EXPECT_EQ(ours.node_guid, theirs.node_guid);
  EXPECT_EQ(ours.port_num, 1);
}

TEST_F(Connection, EitherSideCanDisconnect) {
  meet();
  ASSERT_EQ(client.disconnect(active), 0);
  EXPECT_EQ(server.expect(EventKind::kDisconnected).id, passive);
  ASSERT_EQ(server.disconnect(passive), 0);
  EXPECT_EQ(client.expect(EventKind::kDisconnected).id, active);
  EXPECT_EQ(client.destroy(active), 0);
  EXPECT_EQ(server.destroy(passive), 0);
}

TEST_F(Connection, IsRejectedWithPrivateData) {
  ask();
  ASSERT_EQ(server.reject(passive, "not today"), 0);
  const auto rejected = client.expect(EventKind::kRejected);
  EXPECT_EQ(rejected.status, 28U);  // consumer reject
  EXPECT_EQ(said(rejected.param.conn), "not today");
}

TEST_F(Connection, IsRejectedWithoutAListener) {
  ASSERT_EQ(server.destroy(listener), 0);
  active = client.create(kActiveUid);
  ASSERT_EQ(client.resolve(active, "127.0.0.1", port), 0);
  client.expect(EventKind::kAddressResolved);
  ASSERT_EQ(client.resolve_route(active), 0);
  client.expect(EventKind::kRouteResolved);
  ASSERT_EQ(client.connect(active, active_qpn), 0);
  EXPECT_EQ(client.expect(EventKind::kRejected).status, 8U);  // invalid service id
}

// As with the kernel: a UD service that refuses may give a reason.
TEST(Resolution, IsRefusedWithPrivateData) {
  constexpr std::uint8_t kUd = 4;
  Channel server, client;
  const std::uint32_t listener = server.create(kListenerUid, RDMA_PS_UDP, kUd);
  ASSERT_EQ(server.bind(listener, "127.0.0.1", 0), 0);
  ASSERT_EQ(server.listen(listener), 0);
  const std::uint32_t active = client.create(kActiveUid, RDMA_PS_UDP, kUd);
  ASSERT_EQ(client.resolve(active, "127.0.0.1", server.port_of(listener)), 0);
  client.expect(EventKind::kAddressResolved);
  ASSERT_EQ(client.resolve_route(active), 0);
  client.expect(EventKind::kRouteResolved);
  ASSERT_EQ(client.connect(active, 0x77), 0);
  const auto request = server.expect(EventKind::kConnectRequest);
  ASSERT_EQ(server.reject(request.id, "not today"), 0);
  const auto refused = client.expect(EventKind::kUnreachable);
  EXPECT_EQ(refused.status, 2U);
  const auto& words = refused.param.ud;
  ASSERT_EQ(words.private_data_len, 136);  // the maximum of a SIDR_REP
  EXPECT_STREQ(reinterpret_cast<const char*>(words.private_data), "not today");
}

TEST_F(Connection, EndsWhenThePeerDestroysItsIdentifier) {
  meet();
  ASSERT_EQ(client.destroy(active), 0);
  server.expect(EventKind::kDisconnected);
}

TEST_F(Connection, CountsTheEventsOfAnIdentifier) {
  meet();
  std::uint32_t events = 0;
  ASSERT_EQ(client.destroy(active, &events), 0);
  EXPECT_EQ(events, 3U);  // address, route, response
  server.expect(EventKind::kDisconnected);
  ASSERT_EQ(server.destroy(passive, &events), 0);
  EXPECT_EQ(events, 2U);  // established, disconnected; the request counts for the listener
  ASSERT_EQ(server.destroy(listener, &events), 0);
  EXPECT_EQ(events, 1U);
}

TEST_F(Connection, MigratesToAnotherChannel) {
  ask();
  Channel other;
  rdma_ucm_migrate_resp moved{};
  const rdma_ucm_migrate_id body{
      .response = 0, .id = passive, .fd = static_cast<std::uint32_t>(server.fd())};
  ASSERT_EQ(other.call(RDMA_USER_CM_CMD_MIGRATE_ID, body, moved), 0);
  EXPECT_EQ(server.accept(passive, kPassiveUid, passive_qpn), EINVAL);
  ASSERT_EQ(other.accept(passive, kPassiveUid, passive_qpn), 0);
  client.expect(EventKind::kConnectResponse);
  ASSERT_EQ(client.confirm(active), 0);
  other.expect(EventKind::kEstablished);
  EXPECT_FALSE(server.readable());
}

TEST_F(Connection, UnfetchedRequestsDieWithTheirListener) {
  active = client.create(kActiveUid);
  ASSERT_EQ(client.resolve(active, "127.0.0.1", port), 0);
  client.expect(EventKind::kAddressResolved);
  ASSERT_EQ(client.resolve_route(active), 0);
  client.expect(EventKind::kRouteResolved);
  ASSERT_EQ(client.connect(active, active_qpn), 0);
  ASSERT_TRUE(server.readable(10'000));
  ASSERT_EQ(server.destroy(listener), 0);
  client.expect(EventKind::kRejected);
  EXPECT_FALSE(server.readable());
}

}  // namespace
}  // namespace rdmacm_test
