// Goal: with the first secret of a direction, recorded packets of all its epochs are opened, in the
// order of a capture, and nothing else is.
#include "seal/recorded.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "seal/outgoing.h"
#include "tests/seal/session_pair.h"

namespace nerve::seal {
namespace {

using std::chrono::milliseconds;

const wire::Flow kFlow{.source = wire::Gid::ipv4(10, 0, 0, 1),
                       .destination = wire::Gid::ipv4(10, 0, 0, 2)};
using Packet = std::vector<std::byte>;

// A sender that begins a new epoch with each packet.
class Sender {
 public:
  Sender() : outgoing_{crypto, Suite::kAes128Gcm, secret, 7} {
    outgoing_.change_keys({.packets = 1}, Time{});
  }
  Packet next() {
    Packet packet(Outgoing::kEmptySize);
    EXPECT_TRUE(outgoing_.seal_nothing(kFlow, Qpn{9}, Time{}, packet));
    return packet;
  }
  Packet skip_to(std::uint64_t epoch) {
    Packet packet = next();
    while (outgoing_.epochs() < epoch) packet = next();
    return packet;
  }

  ToyLedger ledger;
  ToyCrypto crypto{1, ledger};
  ChainSecret secret;

 private:
  Outgoing outgoing_;
};

class RecordedPackets : public testing::Test {
 protected:
  // The epoch, or nothing if the packet was not opened.
  std::optional<std::uint64_t> open(Packet packet) {
    const Packet before = packet;
    wire::Frame frame;
    wire::Piece piece;
    std::uint64_t epoch = 0;
    const Opening opening = recorded.open(kFlow, packet, frame, piece, epoch);
    if (opening == Opening::kEmpty) return epoch;
    EXPECT_EQ(packet, before) << "a packet that was not opened has changed";
    return std::nullopt;
  }

  Sender sender;
  Recorded recorded{sender.crypto, Suite::kAes128Gcm, sender.secret};
};

TEST_F(RecordedPackets, AreOpenedInEveryEpoch) {
  for (std::uint64_t epoch = 0; epoch < 600; ++epoch) EXPECT_EQ(open(sender.next()), epoch);
}

TEST_F(RecordedPackets, MayBeLateAndRepeated) {
  std::deque<Packet> flying;
  for (std::uint64_t epoch = 0; epoch < 300; ++epoch) {
    flying.push_back(sender.next());
    EXPECT_EQ(open(flying.back()), epoch);
    EXPECT_EQ(open(flying.back()), epoch);
    EXPECT_EQ(open(flying.front()), epoch - (flying.size() - 1));
    if (flying.size() == 100) flying.pop_front();
  }
}

TEST_F(RecordedPackets, MayBeginLate) {
  EXPECT_EQ(open(sender.skip_to(700)), 700U);
  EXPECT_EQ(open(sender.next()), 701U);
  EXPECT_EQ(open(sender.skip_to(Recorded::kMaxEpochs - 1)), Recorded::kMaxEpochs - 1);
  EXPECT_EQ(open(sender.next()), std::nullopt);  // the search has an end
}

TEST_F(RecordedPackets, AreAuthenticated) {
  const Packet good = sender.next();
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (i == 4) continue;  // FECN and BECN may change on the way
    Packet changed = good;
    changed[i] ^= std::byte{0x01};
    EXPECT_EQ(open(changed), std::nullopt) << "byte " << i;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(open({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}), std::nullopt);
  }
  EXPECT_EQ(open(good), 0U);  // none of it keeps the true one out
}

TEST(Sessions, RevealTheirSecretsOnceAndOnlyIfAsked) {
  SessionPair closed;
  closed.run_for(milliseconds{1});
  ASSERT_TRUE(closed.a().is_open());
  EXPECT_FALSE(closed.a().take_secrets());

  SessionPair pair{{.reveals_secrets = true}};
  pair.run_for(milliseconds{1});
  const auto caller = pair.a().take_secrets();
  const auto answerer = pair.b().take_secrets();
  ASSERT_TRUE(caller && answerer);
  const auto same = [](const SessionSecrets::Direction& a, const SessionSecrets::Direction& b) {
    return a.spi == b.spi && std::ranges::equal(a.first.bytes(), b.first.bytes());
  };
  EXPECT_TRUE(same(caller->to_peer, answerer->from_peer));
  EXPECT_TRUE(same(caller->from_peer, answerer->to_peer));
  EXPECT_FALSE(pair.a().take_secrets());
  EXPECT_TRUE(pair.passes_both_ways());

  Recorded recorded{pair.crypto(), pair.a().suite(), caller->to_peer.first};
  Packet packet = pair.seal_at_caller();
  wire::Frame frame;
  wire::Piece piece;
  std::uint64_t epoch = 0;
  EXPECT_EQ(recorded.open(kFlow, packet, frame, piece, epoch), Opening::kGood);
  EXPECT_EQ(frame.payload_length, 5U);
}

}  // namespace
}  // namespace nerve::seal
