// Goal: connections that fail end with an event or errno, the same as on Linux, and leave nothing
// behind.
#include <chrono>
#include <thread>

#include "nic/connection/connection_manager.h"
#include "rdmacm/registry.h"
#include "tests/host/process.h"
#include "tests/host/setting.h"
#include "tests/rdmacm/connection.h"

namespace rdmacm_test {
namespace {

using nerve::rdmacm::Registry;
using nerve::test::Line;
using nerve::test::Process;
using nerve::test::Setting;
using namespace std::chrono_literals;

TEST_F(Connection, CanBeDisconnectedRepeatedly) {
  meet();
  ASSERT_EQ(client.disconnect(active), 0);
  server.expect(EventKind::kDisconnected);
  ASSERT_EQ(server.disconnect(passive), 0);
  EXPECT_EQ(client.expect(EventKind::kDisconnected).status, 0U);
  EXPECT_EQ(client.disconnect(active), 0);
  EXPECT_EQ(server.disconnect(passive), 0);
  EXPECT_EQ(server.disconnect(listener), EINVAL);
}

TEST_F(Connection, CannotBeAcceptedWhenThePeerIsGone) {
  ask();
  ASSERT_EQ(client.destroy(active), 0);
  // No event reports it, because the program has no name for the identifier yet.
  int error = 0;
  for (int tries = 0; tries < 200 && error != EINVAL; ++tries) {
    std::this_thread::sleep_for(5ms);
    Registry& registry = Registry::current();
    const std::scoped_lock guard{registry.lock};
    const auto id = registry.ids.find(passive);
    error = id && id->state == nerve::rdmacm::IdState::kOver ? EINVAL : 0;
  }
  EXPECT_EQ(server.accept(passive, kPassiveUid, passive_qpn), EINVAL);
  EXPECT_FALSE(server.readable());
  EXPECT_EQ(server.destroy(passive), 0);
}

// A program that fetches requests and answers them later has room in its backlog for more.
TEST_F(Connection, AFetchedRequestLeavesTheBacklog) {
  const std::uint32_t narrow = server.create(9);
  ASSERT_EQ(server.bind(narrow, "127.0.0.1", 0), 0);
  ASSERT_EQ(server.listen(narrow, 1), 0);
  port = server.port_of(narrow);
  for (int i = 0; i < 3; ++i) {
    active_qpn += 0x1000;
    ask();
    EXPECT_EQ(request.uid, 9U);
  }
}

TEST(Families, CannotBeMixed) {
  Channel channel;
  std::uint32_t id = channel.create(1);
  rdma_ucm_resolve_ip body{};
  body.src_addr = address("127.0.0.1", 0);
  body.dst_addr = address("::1", 7);
  body.id = id;
  EXPECT_EQ(channel.call(RDMA_USER_CM_CMD_RESOLVE_IP, body), EINVAL);
  ASSERT_EQ(channel.bind(id, "127.0.0.1", 0), 0);
  EXPECT_EQ(channel.resolve(id, "::1", 7), EINVAL);
  EXPECT_EQ(channel.resolve(id, "127.0.0.1", 7), 0);  // its state has not changed
  id = channel.create(2);
  sockaddr_in6 other = address("127.0.0.1", 0);
  other.sin6_family = AF_UNIX;
  EXPECT_EQ(channel.call(RDMA_USER_CM_CMD_BIND_IP,
                         rdma_ucm_bind_ip{.response = 0, .addr = other, .id = id}),
            EINVAL);
}

TEST(Spaces, UnknownPortSpacesAreRefused) {
  Channel channel;
  rdma_ucm_create_id_resp made{};
  const rdma_ucm_create_id body{.uid = 1, .response = 0, .ps = 0x155, .qp_type = 2, .reserved = {}};
  EXPECT_EQ(channel.call(RDMA_USER_CM_CMD_CREATE_ID, body, made), EINVAL);
  EXPECT_EQ(channel.call(RDMA_USER_CM_CMD_CREATE_ID, body), ENOSPC);
}

TEST(Services, ResolvingIbServicesIsNotSupported) {
  Channel channel;
  const std::uint32_t id = channel.create(1);
  struct {
    std::uint32_t id, reserved;
    std::byte service[80];
  } body{id, 0, {}};
  EXPECT_EQ(channel.call(23, body), EINVAL);
  ASSERT_EQ(channel.resolve(id, "127.0.0.1", 7), 0);
  EXPECT_EQ(channel.call(23, body), EOPNOTSUPP);
}

TEST(Ports, OfAnotherProcessAreInUse) {
  const Process other{[](Line line) {
    Channel channel;
    const std::uint32_t id = channel.create(1);
    ASSERT_EQ(channel.bind(id, "127.0.0.1", 0), 0);
    line.say(channel.port_of(id));
    (void)line.hear<char>();
  }};
  const auto port = other.line().hear<std::uint16_t>();
  Channel channel;
  EXPECT_EQ(channel.bind(channel.create(1), "127.0.0.1", port), EADDRINUSE);
  other.line().say('x');
}

// Listens at a free port and reports it.
std::uint32_t listen(Channel& channel, Line line) {
  const std::uint32_t listener = channel.create(kListenerUid);
  EXPECT_EQ(channel.bind(listener, "127.0.0.1", 0), 0);
  EXPECT_EQ(channel.listen(listener), 0);
  line.say(channel.port_of(listener));
  return listener;
}

std::uint32_t ask(Channel& channel, std::uint16_t port) {
  const std::uint32_t id = channel.create(kActiveUid);
  EXPECT_EQ(channel.resolve(id, "127.0.0.1", port), 0);
  channel.expect(EventKind::kAddressResolved);
  EXPECT_EQ(channel.resolve_route(id), 0);
  channel.expect(EventKind::kRouteResolved);
  EXPECT_EQ(channel.connect(id, 0x902), 0);
  return id;
}

enum class Answer : std::uint8_t { kLost, kLate, kAtOnce };

// A process that takes one request and then stops listening.
void serve_one(Line line, Answer answer) {
  if (answer == Answer::kLost) ::setenv("NERVE_FAULT", "drop=0x1:1", 1);
  Channel channel;
  const std::uint32_t listener = listen(channel, line);
  const auto request = channel.expect(EventKind::kConnectRequest);
  if (answer != Answer::kLate) {
    ASSERT_EQ(channel.accept(request.id, kPassiveUid, 0x901), 0);
  }
  ASSERT_EQ(channel.destroy(listener), 0);
  if (answer == Answer::kLate) {
    std::this_thread::sleep_for(350ms);  // the client retransmits after 100 and after 300
    ASSERT_EQ(channel.accept(request.id, kPassiveUid, 0x901), 0);
  }
  channel.expect(EventKind::kEstablished);
  line.say('e');
  (void)line.hear<char>();
}

void connect_once(Line line, std::uint16_t port) {
  Channel channel;
  const std::uint32_t id = ask(channel, port);
  channel.expect(EventKind::kConnectResponse);
  ASSERT_EQ(channel.confirm(id), 0);
  line.say('e');
  (void)line.hear<char>();
}

// A listener is destroyed while the client has no answer yet, because it was lost or is late: the
// client retransmits, and is not told that there is no listener.
void leave_a_request_behind(Answer answer) {
  const Process server{[=](Line line) { serve_one(line, answer); }};
  const auto port = server.line().hear<std::uint16_t>();
  const Process client{[=](Line line) { connect_once(line, port); }};
  EXPECT_EQ(client.line().hear<char>(), 'e');
  EXPECT_EQ(server.line().hear<char>(), 'e');
  // The request is settled, so the port is free for any process.
  Channel channel;
  EXPECT_EQ(channel.bind(channel.create(1), "127.0.0.1", port), 0);
  client.line().say('x');
  server.line().say('x');
}

TEST(Listeners, APendingRequestOutlivesItsListener) { leave_a_request_behind(Answer::kLate); }

TEST(Listeners, ALostAnswerIsRepeatedAfterTheListenerIsGone) {
  leave_a_request_behind(Answer::kLost);
}

TEST(Confirmations, LostRtusAreRetransmitted) {
  const Process server{[](Line line) { serve_one(line, Answer::kAtOnce); }};
  const auto port = server.line().hear<std::uint16_t>();
  const Process client{[=](Line line) {
    ::setenv("NERVE_FAULT", "drop=0x1:2", 1);  // REQ, RTU
    connect_once(line, port);
  }};
  EXPECT_EQ(client.line().hear<char>(), 'e');
  EXPECT_EQ(server.line().hear<char>(), 'e');
  client.line().say('x');
  server.line().say('x');
}

// A kernel sends the REJ even if the process that rejected has died. Here the process sends it, so
// it must have left when the call returns.
TEST(Rejections, ReachThePeerOfAProcessThatExits) {
  const Setting transport{"NERVE_TRANSPORT",
                          "shm"};  // no other transport could carry it before the ring exists
  const Process server{[](Line line) {
    Channel channel;
    (void)listen(channel, line);
    const auto request = channel.expect(EventKind::kConnectRequest);
    ASSERT_EQ(channel.reject(request.id, "not today"), 0);
  }};
  const auto port = server.line().hear<std::uint16_t>();
  const Process client{[=](Line line) {
    Channel channel;
    (void)ask(channel, port);
    const auto rejected = channel.expect(EventKind::kRejected);
    EXPECT_EQ(said(rejected.param.conn), "not today");
    line.say('r');
  }};
  EXPECT_EQ(client.line().hear<char>(), 'r');
}

// The number of ports of this process, which has bound `own`.
std::size_t ports_taken(std::uint16_t own) {
  using Space = nerve::host::PortSpace::Space;
  const auto* const ports = Registry::current().port_space();
  const auto slot = ports->owner(Space::kTcp, own);
  std::size_t taken = 0;
  for (std::uint32_t i = 1; i < 1U << 16; ++i) {
    taken += ports->owner(Space::kTcp, static_cast<std::uint16_t>(i)) == slot ? 1 : 0;
  }
  return taken;
}

TEST_F(Connection, RepeatedConnectionsLeakNothing) {
  const std::size_t before = Registry::current().ids.all().size();
  const std::size_t ports_before = ports_taken(port);
  for (int i = 0; i < 1000; ++i) {
    active_qpn = 0x1000 + static_cast<std::uint32_t>(i) * 2;
    passive_qpn = active_qpn + 1;
    meet();
    ASSERT_EQ(client.disconnect(active), 0);
    server.expect(EventKind::kDisconnected);
    ASSERT_EQ(server.disconnect(passive), 0);
    client.expect(EventKind::kDisconnected);
    ASSERT_EQ(server.destroy(passive), 0);
    ASSERT_EQ(client.destroy(active), 0);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(Registry::current().ids.all().size(), before);
  EXPECT_EQ(ports_taken(port), ports_before);
  const auto adapter = Registry::current().all_ports().front().adapter;
  const auto communications = [&] {
    return nerve::host::Adapter::Session { *adapter } -> cm().size();
  };
  for (int tries = 0; tries < 100 && communications() > 10; ++tries) {
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_LE(communications(), 10U);  // listeners of this test and others
}

}  // namespace
}  // namespace rdmacm_test
