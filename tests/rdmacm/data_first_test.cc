// Goal: a program that checks its completions and then its events sees a disconnect only after it
// could poll all completions of that connection.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "rdmacm/registry.h"
#include "tests/rdmacm/channel.h"

namespace rdmacm_test {
namespace {

using namespace nerve;
using Session = host::Adapter::Session;

// A connection whose passive end has a QP with an unpolled completion.
struct DataFirst : ::testing::Test {
  void SetUp() override {
    rdmacm::LocalPort local;
    ASSERT_EQ(
        rdmacm::Registry::current().find_port({.address = wire::Gid::ipv4(127, 0, 0, 1)}, local),
        0);
    adapter = local.adapter;
    make_qp();
    connect();
  }

  void make_qp() {
    const Session session{*adapter};
    cq = *session->create_cq({.depth = 4});
    qp = *session->create_qp({.type = nic::QpType::kRc,
                              .pd = *session->alloc_pd(),
                              .send_cq = cq,
                              .recv_cq = cq,
                              .caps = {.max_recv_wr = 1, .max_recv_sge = 1}});
    using enum nic::QpAttrs;
    ASSERT_TRUE(session->modify_qp(qp, nic::QpState::kInit, kPkeyIndex | kPort | kAccess, {}));
    ASSERT_TRUE(session->post_recv(qp, {}));
    ASSERT_TRUE(session->modify_qp(qp, nic::QpState::kErr, kNone, {}));  // flushes it
  }

  void connect() {
    const std::uint32_t listener = server.create(1);
    ASSERT_EQ(server.bind(listener, "127.0.0.1", 0), 0);
    ASSERT_EQ(server.listen(listener), 0);
    active = client.create(2);
    ASSERT_EQ(client.resolve(active, "127.0.0.1", server.port_of(listener)), 0);
    client.expect(EventKind::kAddressResolved);
    ASSERT_EQ(client.resolve_route(active), 0);
    client.expect(EventKind::kRouteResolved);
    static std::uint32_t used = 0x800;  // never reused
    ASSERT_EQ(client.connect(active, used++), 0);
    const std::uint32_t passive = server.expect(EventKind::kConnectRequest).id;
    const std::uint32_t qpn = Session(*adapter)->query_qp(qp)->qpn.value();
    ASSERT_EQ(server.accept(passive, 3, qpn), 0);
    client.expect(EventKind::kConnectResponse);
    ASSERT_EQ(client.confirm(active), 0);
    server.expect(EventKind::kEstablished);
  }

  void do_not_wait() { ASSERT_EQ(::fcntl(server.fd(), F_SETFL, O_NONBLOCK), 0); }
  void end() {
    ASSERT_EQ(client.disconnect(active), 0);
    ASSERT_TRUE(server.readable(20'000));
  }
  int fetch(rdma_ucm_event_resp& event) {
    return server.call(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, event);
  }
  std::size_t poll() {
    std::array<nic::Completion, 4> out;
    return *Session(*adapter)->poll_cq(cq, out);
  }
  static constexpr auto kEnd = static_cast<std::uint32_t>(EventKind::kDisconnected);

  std::shared_ptr<host::Adapter> adapter;
  nic::CqHandle cq;
  nic::QpHandle qp;
  Channel server;
  Channel client;
  std::uint32_t active{};
};

TEST_F(DataFirst, ADisconnectIsPostponedOnceWithoutBlocking) {
  do_not_wait();
  end();
  rdma_ucm_event_resp event{};
  EXPECT_EQ(fetch(event), EAGAIN);
  EXPECT_TRUE(server.readable());  // the program comes back, also if it sleeps in between
  EXPECT_EQ(poll(), 1U);
  EXPECT_EQ(fetch(event), 0);
  EXPECT_EQ(event.event, kEnd);
}

TEST_F(DataFirst, AProgramThatNeverPollsGetsTheDisconnect) {
  do_not_wait();
  end();
  rdma_ucm_event_resp event{};
  EXPECT_EQ(fetch(event), EAGAIN);
  EXPECT_EQ(fetch(event), 0);
  EXPECT_EQ(event.event, kEnd);
}

TEST_F(DataFirst, ADisconnectIsNotPostponedWhenAllIsPolled) {
  do_not_wait();
  EXPECT_EQ(poll(), 1U);
  end();
  rdma_ucm_event_resp event{};
  EXPECT_EQ(fetch(event), 0);
  EXPECT_EQ(event.event, kEnd);
}

TEST_F(DataFirst, ABlockingProgramGetsTheDisconnect) {
  end();
  EXPECT_EQ(server.expect(EventKind::kDisconnected).uid, 3U);
}

}  // namespace
}  // namespace rdmacm_test
