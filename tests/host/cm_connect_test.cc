// Goal: processes of one host connect through their shared CM, over each transport, with CM calls
// only and without a polling thread.
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/host/cm_peer.h"
#include "tests/host/setting.h"

namespace nerve::test {
namespace {

using Reach = CmPeer::Reach;

class CmWays : public testing::TestWithParam<const char*> {
 protected:
  Setting transport_{"NERVE_TRANSPORT", GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Host, CmWays, testing::Values("shm", "udp", "auto"),
                         [](const auto& way) { return std::string{way.param}; });

TEST_P(CmWays, ConnectAndDisconnect) {
  const std::uint16_t port = own_port();
  const Server server{port};
  const Process client{[=](Line line) {
    CmPeer peer;
    for (int i = 0; i < 20; ++i) peer.disconnect(peer.establish(port));
    line.say('d');
  }};
  for (int i = 0; i < 20; ++i) server.await_connection();
  EXPECT_EQ(client.line().hear<char>(), 'd');
}

// Datagrams wait for the ring that they need.
TEST_P(CmWays, ConnectWithoutReachingFirst) {
  const std::uint16_t port = own_port();
  const Server server{port, Reach::kNot};
  const Process client{[=](Line line) {
    CmPeer peer;
    peer.response_timeout = 20;  // four seconds
    peer.disconnect(peer.establish(port, Reach::kNot));
    // Over UDP, the process that would forward the datagram may belong to another test and have
    // exited.
    if (std::string_view{GetParam()} == "shm") {
      EXPECT_EQ(
          host::Adapter::Session { *peer.adapter } -> counters().mads_retried, 0U);
    }
    line.say('d');
  }};
  server.await_connection();
  EXPECT_EQ(client.line().hear<char>(), 'd');
}

// Polling threads need not check for datagrams: the background thread receives them.
TEST_P(CmWays, ConnectWhileAThreadPolls) {
  const std::uint16_t port = own_port();
  const Server server{port};
  const Process client{[=](Line line) {
    CmPeer peer;
    std::atomic<bool> done{};
    std::thread polls{[&] {
      while (!done) host::Adapter::Session{*peer.adapter}.drive();
    }};
    for (int i = 0; i < 5; ++i) peer.disconnect(peer.establish(port));
    done = true;
    polls.join();
    line.say('d');
  }};
  EXPECT_EQ(client.line().hear<char>(), 'd');
}

TEST_P(CmWays, AProcessConnectsToItself) {
  const std::uint16_t port = own_port();
  const Process process{[=](Line line) {
    CmPeer peer;
    peer.listen(port);
    const nic::CommHandle active = peer.connect(port);
    const nic::CommHandle passive = peer.expect(nic::CmEventKind::kRequest).id;
    EXPECT_TRUE(host::Adapter::Session { *peer.adapter } -> cm().accept(passive, peer.offer(), {}));
    EXPECT_EQ(peer.expect(nic::CmEventKind::kReply).id, active);
    EXPECT_TRUE(host::Adapter::Session { *peer.adapter } -> cm().confirm(active, {}));
    EXPECT_EQ(peer.expect(nic::CmEventKind::kEstablished).id, passive);
    line.say('d');
  }};
  EXPECT_EQ(process.line().hear<char>(), 'd');
}

TEST_P(CmWays, ConnectingWithoutAListenerIsRejected) {
  const std::uint16_t port = own_port();
  const Process client{[=](Line line) {
    CmPeer peer;
    (void)peer.connect(port);
    const auto event = peer.expect(nic::CmEventKind::kRejected);
    EXPECT_EQ(std::get<wire::CmRej>(event.message).reason, wire::RejectReason::kInvalidServiceId);
    line.say('d');
  }};
  EXPECT_EQ(client.line().hear<char>(), 'd');
}

// More processes than sockets of the UDP port, and all of them read the socket of QP1: most
// datagrams that one process finds there are for another.
TEST_P(CmWays, ManyProcessesInARing) {
  constexpr std::uint16_t kMany = 20;
  std::vector<Process> processes;
  const std::uint16_t first = own_port();
  for (std::uint16_t i = 0; i < kMany; ++i) {
    processes.emplace_back([=](Line line) {
      CmPeer peer;
      peer.listen(static_cast<std::uint16_t>(first + i));
      line.say('r');
      (void)line.hear<char>();
      const nic::CommHandle active =
          peer.connect(static_cast<std::uint16_t>(first + (i + 1) % kMany));
      bool replied = false;
      bool established = false;
      while (!replied || !established) {
        const auto event = peer.next();
        ASSERT_TRUE(event) << "process " << i << (replied ? "" : " has no reply");
        if (event->kind == nic::CmEventKind::kRequest) {
          const auto& req = std::get<wire::CmReq>(event->message);
          peer.adapter->reach_comm(event->flow.source, req.local_comm_id);
          host::Adapter::Session session{*peer.adapter};
          EXPECT_TRUE(session->cm().accept(event->id, peer.offer(), {}));
        } else if (event->kind == nic::CmEventKind::kReply) {
          EXPECT_EQ(event->id, active);
          EXPECT_TRUE(host::Adapter::Session { *peer.adapter } -> cm().confirm(active, {}));
          replied = true;
        } else {
          EXPECT_EQ(event->kind, nic::CmEventKind::kEstablished);
          established = true;
        }
      }
      line.say('d');
      (void)line.hear<char>();
    });
  }
  for (const Process& process : processes) EXPECT_EQ(process.line().hear<char>(), 'r');
  for (const Process& process : processes) process.line().say('g');
  for (const Process& process : processes) EXPECT_EQ(process.line().hear<char>(), 'd');
  for (const Process& process : processes) process.line().say('e');
}

TEST_P(CmWays, LossOnlyDelays) {
  const Setting fault{"NERVE_FAULT", "loss=20%;seed=7"};
  const std::uint16_t port = own_port();
  const Server server{port};
  const Process client{[=](Line line) {
    CmPeer peer;
    for (int i = 0; i < 10; ++i) peer.disconnect(peer.establish(port));
    line.say('d');
  }};
  EXPECT_EQ(client.line().hear<char>(), 'd');
}

TEST(CmHost, DelayedDatagramsReachTheirProcess) {
  const Setting fault{"NERVE_FAULT", "delay=1ms;seed=7"};
  const std::uint16_t port = own_port();
  const Server server{port};
  const Process client{[=](Line line) {
    CmPeer peer;
    peer.disconnect(peer.establish(port));
    line.say('d');
  }};
  EXPECT_EQ(client.line().hear<char>(), 'd');
}

TEST(CmHost, ASidrReplyReachesItsRequester) {
  const std::uint16_t port = own_port();
  const auto service = wire::service_id({.space = wire::PortSpace::kUdp, .port = port});
  const Process server{[=](Line line) {
    CmPeer peer;
    ASSERT_EQ(peer.ports->bind(host::PortSpace::Space::kUdp, port), 0);
    ASSERT_TRUE(host::Adapter::Session { *peer.adapter } -> cm().listen({.service = service}));
    line.say('r');
    const auto event = peer.expect(nic::CmEventKind::kResolveRequest);
    const auto& req = std::get<wire::CmSidrReq>(event.message);
    peer.adapter->reach_comm(event.flow.source, req.request_id);
    EXPECT_TRUE(host::Adapter::Session { *peer.adapter } -> cm().resolved(
        event.id, {.qpn = Qpn{0x123}, .qkey = 0x1ee7}));
    (void)line.hear<char>();
  }};
  EXPECT_EQ(server.line().hear<char>(), 'r');
  const Process client{[=](Line line) {
    CmPeer peer;
    const wire::Gid here = peer.gid();
    peer.adapter->reach_service(here, service);
    EXPECT_TRUE(host::Adapter::Session { *peer.adapter } -> cm().resolve(
        {.route = {.local = here, .remote = here, .response_timeout = 14}, .service = service}));
    const auto event = peer.expect(nic::CmEventKind::kResolved);
    EXPECT_EQ(std::get<wire::CmSidrRep>(event.message).qpn, Qpn{0x123});
    line.say('d');
  }};
  EXPECT_EQ(client.line().hear<char>(), 'd');
  server.line().say('e');
}

}  // namespace
}  // namespace nerve::test
