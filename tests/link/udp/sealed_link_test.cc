// Goal: the packets of a sealed QP arrive as they were sent, in trains and alone, and those of
// other QPs beside them stay as they are.
#include <gtest/gtest.h>

#include "seal/session.h"
#include "tests/link/udp/udp_pair.h"
#include "tests/seal/toy_crypto.h"

namespace nerve::link {
namespace {

constexpr Qpn kSealedQpn{0x4001};
constexpr Qpn kPlainQpn{0x4002};
constexpr Qpn kForbiddenQpn{0x4003};
const wire::Flow kSealedFlow{.source = kHere4, .destination = kThere4};

// A session from kHere4 to kSealedQpn of kThere4, with both ends.
class OneSession final : public Sealing {
 public:
  OneSession() {
    for (int i = 0; i < 10; ++i) {
      now_ += std::chrono::seconds{1};
      pass(here_, there_);
      pass(there_, here_);
    }
    EXPECT_TRUE(here_.is_open() && there_.is_open());
  }

  Way way_of(const wire::Flow& flow, const wire::Bth& bth) override {
    if (bth.dest_qp == kForbiddenQpn) return {.may_send = false};
    const bool sealed = flow.destination == kThere4 && bth.dest_qp == kSealedQpn;
    return {.sealer = sealed ? &here_ : nullptr};
  }
  seal::Opener* opener_of(const wire::Flow& /*flow*/, Bytes /*packet*/) override { return &there_; }

 private:
  static seal::SessionSetup setup(const wire::Gid& own, Qpn own_qpn, const wire::Gid& peer,
                                  Qpn peer_qpn) {
    return {.own = {.gid = own, .qpn = own_qpn},
            .peer = {.gid = peer, .qpn = peer_qpn},
            .credentials = seal::Preshared{},
            .suites = {seal::Suite::kAes128Gcm}};
  }
  void pass(seal::Session& from, seal::Session& to) {
    std::vector<std::byte> packet(seal::Session::kMaxPacket);
    packet.resize(from.next_packet(now_, packet));
    wire::Frame frame;
    wire::Piece piece;
    if (!packet.empty()) (void)to.receive(from.flow(), packet, now_, frame, piece);
  }

  Time now_;
  seal::ToyLedger ledger_;
  seal::ToyCrypto crypto_{1, ledger_};
  seal::Session here_{crypto_, setup(kHere4, Qpn{5}, kThere4, kSealedQpn), now_};
  seal::Session there_{crypto_, setup(kThere4, kSealedQpn, kHere4, Qpn{5}), now_};
};

struct SealedPair {
  explicit SealedPair(const PairConfig& config = {}) : pair{config} {
    pair.sender->seal_with(sealing);
    pair.receivers[0]->open_with(sealing);
  }
  OneSession sealing;
  UdpPair pair;
};

std::vector<Sample> samples(Prng& prng, Qpn to, std::size_t count, std::size_t length) {
  std::vector<Sample> made;
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back(random_sample(prng, kSealedFlow, kSendMiddle, length));
    made.back().headers.bth.dest_qp = to;
  }
  return made;
}

TEST(SealedLink, CarriesTrainsWithAndWithoutOffloads) {
  for (const bool offloads : {true, false}) {
    SealedPair sealed{{.segmentation = offloads, .coalescing = offloads}};
    Prng prng{1};
    for (const auto& [count, length] : {std::pair{40, 1024}, {20, 4096}, {30, 0}, {1, 13}}) {
      const auto sent = samples(prng, kSealedQpn, static_cast<std::size_t>(count),
                                static_cast<std::size_t>(length));
      sealed.pair.send(sent);
      expect_equal(sealed.pair.receive(sent.size()), sent);
    }
    EXPECT_EQ(sealed.pair.receivers[0]->counters().bad_seal, 0U);
    EXPECT_EQ(sealed.pair.sender->counters().trains > 0, offloads);
  }
}

TEST(SealedLink, SealsTheFramesOfItsQpOnly) {
  SealedPair sealed;
  Prng prng{2};
  std::vector<Sample> sent;
  for (int i = 0; i < 10; ++i) {
    const Qpn to = i % 2 == 0 ? kSealedQpn : kPlainQpn;
    for (const Sample& sample : samples(prng, to, 3, 200)) sent.push_back(sample);
  }
  sealed.pair.send(sent);
  expect_equal(sealed.pair.receive(sent.size()), sent);
}

TEST(SealedLink, DropsWhatMayNotBeSent) {
  SealedPair sealed;
  Prng prng{3};
  sealed.pair.send(samples(prng, kForbiddenQpn, 7, 100));
  EXPECT_EQ(sealed.pair.sender->counters().dropped_unsealed, 7U);
  EXPECT_EQ(sealed.pair.sender->counters().packets, 0U);
}

// Packets that fault injection has delayed or corrupted are bytes.
TEST(SealedLink, SealsBytesAndKeepsThemCorrupt) {
  SealedPair sealed;
  Prng prng{4};
  const auto sent = samples(prng, kSealedQpn, 1, 300);
  const Frames frames{sent};
  std::vector<std::byte> bytes(wire::udp_payload_size(frames.span()[0]));
  wire::encode_udp_payload(frames.span()[0], wire::Envelope{}, bytes);
  sealed.pair.sender->send_bytes(kSealedFlow, bytes, Time{});
  expect_equal(sealed.pair.receive(1), sent);

  bytes[40] ^= std::byte{1};
  sealed.pair.sender->send_bytes(kSealedFlow, bytes, Time{});
  EXPECT_TRUE(sealed.pair.receive(1).empty());
  EXPECT_EQ(sealed.pair.receivers[0]->counters().bad_seal, 1U);
}

}  // namespace
}  // namespace nerve::link
