// Goal: if a process dies in the middle of a CM exchange, its peer soon gets an event, in every
// state and over every transport.
#include <stdlib.h>
#include <string.h>

#include <string>
#include <string_view>

#include "host/peers/membership.h"
#include "host/peers/unix_socket.h"
#include "tests/host/cm_peer.h"
#include "tests/host/setting.h"

namespace nerve::test {
namespace {

using nic::CmEventKind;
using Session = host::Adapter::Session;

enum class Stage : std::uint8_t { kAsked, kAnswered, kConnected };
enum class End : std::uint8_t { kKill, kExit };

class CmDeaths : public testing::TestWithParam<const char*> {
 protected:
  // The first event of the survivor, and the reason if it is a rejection.
  struct Heard {
    CmEventKind kind{};
    wire::RejectReason reason{};
  };
  struct Scene {
    Stage stage{};
    bool server_dies{};
    End end{End::kKill};
    bool slot_is_taken{};  // by another process, before the survivor notices
  };
  [[nodiscard]] static Heard play(const Scene& scene);

 private:
  Setting transport_{"NERVE_TRANSPORT", GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Host, CmDeaths, testing::Values("shm", "udp", "auto"),
                         [](const auto& way) { return std::string{way.param}; });

// Waits for the report that the peer is dead, or for its own death.
template <class Heard>
void wait_for_the_end(CmPeer& peer, Line line) {
  line.say(host::slot_of(Session { *peer.adapter } -> config().first_qpn));
  if (line.hear<char>() == 'x') ::exit(0);  // like a program that returns from main
  Heard heard;
  auto event = peer.next();
  // Skip events of the stage before.
  while (event &&
         (event->kind == CmEventKind::kRequest || event->kind == CmEventKind::kEstablished)) {
    event = peer.next();
  }
  ASSERT_TRUE(event) << "nothing came";
  heard.kind = event->kind;
  if (const auto* rej = std::get_if<wire::CmRej>(&event->message)) heard.reason = rej->reason;
  line.say(heard);
}

CmDeaths::Heard CmDeaths::play(const Scene& scene) {
  const std::uint16_t port = own_port();
  Process server{[=](Line line) {
    CmPeer peer;
    peer.listen(port);
    line.say('l');
    const auto request = peer.expect(CmEventKind::kRequest);
    const auto& req = std::get<wire::CmReq>(request.message);
    peer.adapter->reach_comm(request.flow.source, req.local_comm_id);
    if (scene.stage != Stage::kAsked) {
      EXPECT_TRUE(Session { *peer.adapter } -> cm().accept(request.id, peer.offer(), {}));
    }
    if (scene.stage == Stage::kConnected) peer.expect(CmEventKind::kEstablished);
    wait_for_the_end<Heard>(peer, line);
  }};
  EXPECT_EQ(server.line().hear<char>(), 'l');
  Process client{[=](Line line) {
    CmPeer peer;
    peer.response_timeout = 20;  // four seconds, as in rdma_cm
    const nic::CommHandle id = peer.connect(port);
    if (scene.stage != Stage::kAsked) {
      EXPECT_EQ(peer.expect(CmEventKind::kReply).id, id);
    }
    if (scene.stage == Stage::kConnected) {
      EXPECT_TRUE(Session { *peer.adapter } -> cm().confirm(id, {}));
    }
    wait_for_the_end<Heard>(peer, line);
  }};
  const auto server_slot = server.line().hear<std::uint32_t>();
  const auto client_slot = client.line().hear<std::uint32_t>();
  Process& victim = scene.server_dies ? server : client;
  Process& survivor = scene.server_dies ? client : server;
  survivor.line().say('g');
  host::Descriptor successor;
  if (scene.slot_is_taken) survivor.stop();
  if (scene.end == End::kKill) {
    victim.kill();
  } else {
    victim.line().say('x');
  }
  if (scene.slot_is_taken) {
    successor = host::hold_name(host::name_of_slot(scene.server_dies ? server_slot : client_slot));
    EXPECT_TRUE(successor);
    EXPECT_TRUE(host::listen_to_calls(successor.get()));
    survivor.resume();
  }
  return survivor.line().hear<Heard>();
}

TEST_P(CmDeaths, OfAServerThatHasNotAnswered) {
  const Heard heard = play({.stage = Stage::kAsked, .server_dies = true});
  EXPECT_EQ(heard.kind, CmEventKind::kRejected);
  EXPECT_EQ(heard.reason, wire::RejectReason::kInvalidServiceId);  // no listener
}

TEST_P(CmDeaths, OfAClientThatHasAsked) {
  EXPECT_EQ(play({.stage = Stage::kAsked}).kind, CmEventKind::kRejected);
}

TEST_P(CmDeaths, OfAServerThatHasAnswered) {
  EXPECT_EQ(play({.stage = Stage::kAnswered, .server_dies = true}).kind, CmEventKind::kRejected);
}

TEST_P(CmDeaths, OfAClientThatWasAnswered) {
  EXPECT_EQ(play({.stage = Stage::kAnswered}).kind, CmEventKind::kRejected);
}

TEST_P(CmDeaths, OfEitherEndOfAConnection) {
  for (const bool server_dies : {true, false}) {
    EXPECT_EQ(play({.stage = Stage::kConnected, .server_dies = server_dies}).kind,
              CmEventKind::kDisconnected);
  }
}

TEST_P(CmDeaths, AreNoticedWhenAnotherProcessTakesTheSlot) {
  for (const bool server_dies : {true, false}) {
    EXPECT_EQ(
        play({.stage = Stage::kConnected, .server_dies = server_dies, .slot_is_taken = true}).kind,
        CmEventKind::kDisconnected);
  }
}

// A process that exits sends DREQs, so that peers that cannot see it die get them. Over UDP, its
// death may be noticed first.
TEST_P(CmDeaths, AProcessThatExitsDisconnects) {
  const char* const sanitizer = ::getenv("ASAN_OPTIONS");
  if (sanitizer != nullptr && ::strstr(sanitizer, "detect_leaks=1") != nullptr) {
    GTEST_SKIP() << "a child of a fork that exits would be searched for leaks, for minutes";
  }
  for (const bool server_dies : {true, false}) {
    const CmEventKind kind =
        play({.stage = Stage::kConnected, .server_dies = server_dies, .end = End::kExit}).kind;
    EXPECT_TRUE(kind == CmEventKind::kDisconnectRequested ||
                (kind == CmEventKind::kDisconnected && std::string_view{GetParam()} == "udp"));
  }
  const Heard heard = play({.stage = Stage::kAnswered, .end = End::kExit});
  EXPECT_EQ(heard.kind, CmEventKind::kRejected);
  EXPECT_EQ(heard.reason, wire::RejectReason::kConsumer);
}

}  // namespace
}  // namespace nerve::test
