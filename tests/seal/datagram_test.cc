// Sealed datagrams: each is accepted once, from those who have the secret, in any order, and
// nothing else is.
#include "seal/datagram.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/seal/toy_crypto.h"

namespace nerve::seal {
namespace {

constexpr wire::Opcode kUdSendOnly = wire::opcode(wire::Transport::kUd, wire::Operation::kSendOnly);
constexpr std::uint8_t kAnySuite = 0x1e;

class Datagrams : public testing::Test {
 protected:
  std::vector<std::byte> seal(DatagramSender& sender, wire::Opcode opcode = kUdSendOnly) {
    const std::vector<std::byte> payload(100, std::byte{0x5a});
    const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(payload.data()),
                            .length = 100};
    wire::Frame frame{.flow = flow};
    frame.headers.bth = {.opcode = opcode, .dest_qp = Qpn{9}};
    frame.payload = {&piece, 1};
    frame.payload_length = 100;
    std::vector<std::byte> out(sealed_size(frame));
    EXPECT_TRUE(sender.seal(frame, now, out));
    return out;
  }
  Opening open(std::vector<std::byte> packet) {
    wire::Frame frame;
    wire::Piece piece;
    const Opening opening = receiver->receive(secret, flow, packet, now, frame, piece);
    if (opening == Opening::kGood) {
      EXPECT_EQ(frame.payload_length, 100U);
    }
    return opening;
  }

  wire::Flow flow{.source = wire::Gid::ipv4(10, 0, 0, 1),
                  .destination = wire::Gid::ipv4(10, 0, 0, 2)};
  Time now{std::chrono::seconds{5}};
  ToyLedger ledger;
  ToyCrypto crypto{1, ledger};
  ChainSecret secret;
  DatagramSender sender{crypto, Suite::kAes128Gcm, secret};
  std::optional<DatagramReceiver> receiver{std::in_place, crypto, kAnySuite};
};

TEST_F(Datagrams, AreAcceptedOnceInAnyOrder) {
  std::vector<std::vector<std::byte>> packets;
  for (int i = 0; i < 50; ++i) packets.push_back(seal(sender));
  for (std::size_t i = 0; i < packets.size(); ++i) {
    EXPECT_EQ(open(packets[i * 7 % packets.size()]), Opening::kGood);
  }
  for (const auto& packet : packets) EXPECT_EQ(open(packet), Opening::kReplayed);
  EXPECT_EQ(receiver->streams(), 1U);
  EXPECT_TRUE(ledger.violations.empty());
}

TEST_F(Datagrams, AreRefusedWithAnyByteChanged) {
  const auto good = seal(sender);
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto changed = good;
    changed[i] ^= std::byte{1};
    const bool mutable_byte = i == kBthMutableByte;  // a switch may set FECN
    now += std::chrono::seconds{1};
    EXPECT_EQ(open(changed) == Opening::kGood, mutable_byte) << i;
    receiver.emplace(crypto, kAnySuite);
  }
}

TEST_F(Datagrams, AreRefusedFromAnotherAddress) {
  const auto packet = seal(sender);
  flow.source = wire::Gid::ipv4(10, 0, 0, 3);
  EXPECT_EQ(open(packet), Opening::kForged);
}

TEST_F(Datagrams, AreRefusedWithAnotherSecret) {
  ChainSecret other;
  other.bytes()[0] = std::byte{1};
  DatagramSender stranger{crypto, Suite::kAes128Gcm, other};
  EXPECT_EQ(open(seal(stranger)), Opening::kForged);
  EXPECT_EQ(receiver->streams(), 0U) << "a stranger must not fill the table";
}

TEST_F(Datagrams, AreRefusedWithASuiteThatIsNotAllowed) {
  receiver.emplace(crypto, std::uint8_t{1U << 3U});
  EXPECT_EQ(open(seal(sender)), Opening::kUnknown);
}

// Who has a host's secret must not speak to a connected QP, whose session has its own.
TEST_F(Datagrams, CarryNothingElse) {
  EXPECT_EQ(open(seal(sender, wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly))),
            Opening::kMalformed);
}

TEST_F(Datagrams, BeginAnotherStreamAfterManyPacketsAndAfterAnHour) {
  DatagramSender often{crypto, Suite::kAes128Gcm, secret, EpochLimits{.packets = 10}};
  for (int i = 0; i < 35; ++i) EXPECT_EQ(open(seal(often)), Opening::kGood);
  EXPECT_EQ(receiver->streams(), 4U);
  now += std::chrono::hours{1};
  EXPECT_EQ(open(seal(often)), Opening::kGood);
  EXPECT_EQ(receiver->streams(), 5U);
  EXPECT_TRUE(ledger.violations.empty());
}

TEST_F(Datagrams, ForgetTheStreamThatWasSilentForLongest) {
  DatagramSender many{crypto, Suite::kAes128Gcm, secret, EpochLimits{.packets = 1}};
  const auto first = seal(many);
  EXPECT_EQ(open(first), Opening::kGood);
  for (std::size_t i = 0; i < DatagramReceiver::kMaxStreams; ++i) {
    now += std::chrono::milliseconds{2};
    ASSERT_EQ(open(seal(many)), Opening::kGood);
  }
  EXPECT_EQ(receiver->streams(), DatagramReceiver::kMaxStreams);
}

TEST_F(Datagrams, ForgedOnesCostFewDerivations) {
  ChainSecret other;
  other.bytes()[0] = std::byte{1};
  DatagramSender stranger{crypto, Suite::kAes128Gcm, other, EpochLimits{.packets = 1}};
  int checked = 0;
  for (int i = 0; i < 1000; ++i) {
    now += std::chrono::microseconds{1};
    checked += open(seal(stranger)) == Opening::kForged ? 1 : 0;
  }
  EXPECT_LE(checked, 65);
  now += std::chrono::milliseconds{1};
  EXPECT_EQ(open(seal(sender)), Opening::kGood);
}

}  // namespace
}  // namespace nerve::seal
