// Goal: connections fail cleanly when a process of the host dies, stops or sends garbage.
#include <algorithm>
#include <array>

#include "base/prng.h"
#include "host/peers/membership.h"
#include "link/udp/udp_sender.h"
#include "tests/host/cm_peer.h"

namespace nerve::test {
namespace {

using nic::CmEventKind;

// A process that takes part in the host's CM and is not involved in the test.
class Bystander {
 public:
  Bystander()
      : process_{[](Line line) {
          const CmPeer peer;
          line.say('r');
          (void)line.hear<char>();
        }} {
    EXPECT_EQ(process_.line().hear<char>(), 'r');
  }
  ~Bystander() { process_.line().say('x'); }

 private:
  Process process_;
};

TEST(CmBadDays, ConnectingToAKilledListenerIsRejected) {
  const Bystander bystander;
  const std::uint16_t port = own_port();
  Server server{port};
  server.kill();
  const Process client{[=](Line line) {
    CmPeer peer;
    (void)peer.connect(port);
    EXPECT_EQ(std::get<wire::CmRej>(peer.expect(CmEventKind::kRejected).message).reason,
              wire::RejectReason::kInvalidServiceId);
    line.say('d');
  }};
  EXPECT_EQ(client.line().hear<char>(), 'd');
  const Server next{port};  // a later process may take the port
  const Process again{[=](Line line) {
    CmPeer peer;
    peer.disconnect(peer.establish(port));
    line.say('d');
  }};
  EXPECT_EQ(again.line().hear<char>(), 'd');
}

TEST(CmBadDays, AKilledPeerIsDisconnected) {
  const std::uint16_t port = own_port();
  Server server{port};
  const Process client{[=](Line line) {
    CmPeer peer;
    const nic::CommHandle id = peer.establish(port);
    line.say('e');
    (void)line.hear<char>();
    // To the id of a dead process, if its death has not been noticed yet.
    (void)host::Adapter::Session { *peer.adapter } -> cm().disconnect(id, {});
    EXPECT_EQ(peer.expect(CmEventKind::kDisconnected).id, id);
    line.say('d');
  }};
  EXPECT_EQ(client.line().hear<char>(), 'e');
  server.await_connection();
  server.kill();
  client.line().say('g');
  EXPECT_EQ(client.line().hear<char>(), 'd');
}

TEST(CmBadDays, AStoppedListenerIsUnreachable) {
  const Bystander bystander;  // has the port table and hands it on
  const std::uint16_t port = own_port();
  Server server{port};
  server.stop();
  const Process client{[=](Line line) {
    CmPeer peer;
    (void)peer.connect(port);
    (void)peer.expect(CmEventKind::kUnreachable);
    line.say('d');
  }};
  EXPECT_EQ(client.line().hear<char>(), 'd');
  server.kill();
}

// Sends bytes that resemble CM datagrams to whichever process reads them.
void send_garbage(const wire::Gid& to) {
  const auto sender =
      link::UdpSender::open({.port = wire::kRocePort, .family = link::machine_family()});
  ASSERT_TRUE(sender);
  Prng prng{11};
  for (int i = 0; i < 2000; ++i) {
    std::array<std::byte, 300> bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
    if (i % 8 != 0) {
      bytes[0] = std::byte{1};
      bytes[1] = std::byte{wire::kCmClass};
      bytes[2] = std::byte{wire::kCmClassVersion};
      bytes[3] = std::byte{wire::kCmMethodSend};
      bytes[16] = std::byte{0};
      bytes[17] = static_cast<std::byte>(0x10 + i % 12);
    }
    const std::uint32_t length = i % 16 == 0 ? 4 * static_cast<std::uint32_t>(i % 75) : 256;
    const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(bytes.data()),
                            .length = length};
    wire::Frame frame{.flow = {.source = to, .destination = to},
                      .payload = {&piece, 1},
                      .payload_length = length};
    frame.headers.bth.opcode = wire::opcode(wire::Transport::kUd, wire::Operation::kSendOnly);
    frame.headers.bth.pkey = PKey{0xffff};
    frame.headers.bth.dest_qp = Qpn{1};
    frame.headers.deth = {.qkey = wire::kGsiQkey, .source_qp = Qpn{1}};
    (*sender)->send({&frame, 1}, Time{});
  }
}

TEST(CmBadDays, GarbageDatagramsAreHarmless) {
  const Bystander bystander;
  const std::uint16_t port = own_port();
  const Server server{port};
  const Process client{[=](Line line) {
    CmPeer peer;
    peer.disconnect(peer.establish(port));
    send_garbage(peer.gid());
    peer.disconnect(peer.establish(port));
    line.say('d');
  }};
  EXPECT_EQ(client.line().hear<char>(), 'd');
}

}  // namespace
}  // namespace nerve::test
