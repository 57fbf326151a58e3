// Sealed packets: what comes out is what went in, once, and nothing else is accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "seal/incoming.h"
#include "seal/outgoing.h"
#include "tests/seal/toy_crypto.h"

namespace nerve::seal {
namespace {

using std::chrono::seconds;

struct Opened {
  Opening opening{};
  wire::Headers headers{};
  std::vector<std::byte> payload{};
};

class Direction {
 public:
  explicit Direction(const EpochLimits& limits = {})
      : outgoing{crypto, Suite::kAes128Gcm, secret, 7},
        incoming{crypto, Suite::kAes128Gcm, secret, 7} {
    outgoing.change_keys(limits, now);
  }

  std::vector<std::byte> seal(wire::Headers headers, Bytes payload) {
    headers.bth.pad = wire::pad_for(static_cast<std::uint32_t>(payload.size()));
    wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(payload.data()),
                      .length = static_cast<std::uint32_t>(payload.size())};
    wire::Frame frame{.flow = flow, .headers = headers};
    frame.payload = {&piece, payload.empty() ? 0U : 1U};
    frame.payload_length = piece.length;
    std::vector<std::byte> out(sealed_size(frame));
    EXPECT_TRUE(outgoing.seal(frame, now, out));
    return out;
  }
  std::vector<std::byte> seal_one() {
    return seal({.bth = {.opcode = 0x04, .dest_qp = Qpn{9}, .psn = Psn{3}}}, std::vector(5, kByte));
  }

  Opened open(std::vector<std::byte> packet) {
    wire::Frame frame;
    wire::Piece piece;
    Opened opened{.opening = incoming.open(flow, packet, now, frame, piece)};
    if (opened.opening != Opening::kGood) return opened;
    opened.headers = frame.headers;
    const auto* at = reinterpret_cast<const std::byte*>(piece.address);
    opened.payload.assign(at, at + frame.payload_length);
    return opened;
  }

  static constexpr std::byte kByte{0x5a};
  wire::Flow flow{.source = wire::Gid::ipv4(10, 0, 0, 1),
                  .destination = wire::Gid::ipv4(10, 0, 0, 2)};
  Time now{seconds{100}};
  ToyLedger ledger;
  ToyCrypto crypto{1, ledger};
  ChainSecret secret;
  Outgoing outgoing;
  Incoming incoming;
};

TEST(SealedPackets, CarryEveryOpcode) {
  Direction way;
  int opcodes = 0;
  for (unsigned code = 0; code < 0xc0; ++code) {
    if (wire::find_opcode(static_cast<wire::Opcode>(code)) == nullptr) continue;
    ++opcodes;
    for (const std::size_t size : {0U, 1U, 2U, 3U, 4U, 100U, 4096U}) {
      wire::Headers headers{.bth = {.opcode = static_cast<std::uint8_t>(code),
                                    .solicited = true,
                                    .pkey = PKey{0x8001},
                                    .dest_qp = Qpn{0x123456},
                                    .ack_request = true,
                                    .psn = Psn{0xfedcba}}};
      const std::vector<std::byte> payload(size, Direction::kByte);
      const std::vector<std::byte> sealed = way.seal(headers, payload);
      headers.bth.pad = wire::pad_for(static_cast<std::uint32_t>(size));
      EXPECT_EQ(sealed[0], std::byte{kSealedOpcode});
      if (size >= 100) {  // nothing of the payload can be read
        EXPECT_LT(std::ranges::count(sealed, Direction::kByte), static_cast<int>(size / 4));
      }
      const Opened opened = way.open(sealed);
      ASSERT_EQ(opened.opening, Opening::kGood);
      EXPECT_EQ(opened.headers, headers);
      EXPECT_EQ(opened.payload, payload);
    }
  }
  EXPECT_GT(opcodes, 40);
  EXPECT_TRUE(way.ledger.violations.empty());
}

TEST(SealedPackets, PayloadInPiecesIsTheSamePacket) {
  Direction way;
  std::vector<std::byte> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  const auto at = reinterpret_cast<std::uint64_t>(bytes.data());
  const std::array<wire::Piece, 3> pieces{{{.address = at, .length = 1},
                                           {.address = at + 1, .length = 200},
                                           {.address = at + 201, .length = 99}}};
  wire::Frame frame{.flow = way.flow, .headers = {.bth = {.opcode = 0x04}}};
  frame.payload = pieces;
  frame.payload_length = 300;
  std::vector<std::byte> out(sealed_size(frame));
  ASSERT_TRUE(way.outgoing.seal(frame, way.now, out));
  EXPECT_EQ(way.open(out).payload, bytes);
}

TEST(SealedPackets, EveryChangedBitIsRefused) {
  Direction way;
  const std::vector<std::byte> sealed = way.seal_one();
  for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    auto changed = sealed;
    changed[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    const bool network_may = bit / 8 == 4;  // FECN, BECN
    if (network_may) continue;
    EXPECT_NE(way.open(changed).opening, Opening::kGood) << "bit " << bit;
  }
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_NE(
        way.open({sealed.begin(), sealed.begin() + static_cast<std::ptrdiff_t>(size)}).opening,
        Opening::kGood);
  }
  auto marked = sealed;
  marked[4] |= std::byte{0xc0};
  EXPECT_EQ(way.open(marked).opening, Opening::kGood);
}

TEST(SealedPackets, OtherAddressesAreRefused) {
  Direction way;
  const std::vector<std::byte> sealed = way.seal_one();
  way.flow.source = wire::Gid::ipv4(10, 0, 0, 3);
  EXPECT_EQ(way.open(sealed).opening, Opening::kForged);
  way.flow.source = wire::Gid::ipv4(10, 0, 0, 1);
  way.flow.destination = wire::Gid::ipv4(10, 0, 0, 3);
  EXPECT_EQ(way.open(sealed).opening, Opening::kForged);
}

TEST(SealedPackets, ArriveInAnyOrderAndOnce) {
  Direction way;
  std::vector<std::vector<std::byte>> sealed;
  for (std::uint64_t i = 0; i < ReplayWindow::kSize + 1; ++i) sealed.push_back(way.seal_one());
  // The first is now too old to tell whether it was seen.
  EXPECT_EQ(way.open(sealed.back()).opening, Opening::kGood);
  EXPECT_EQ(way.open(sealed[0]).opening, Opening::kReplayed);
  for (std::size_t i = sealed.size() - 2; i > 0; --i) {
    EXPECT_EQ(way.open(sealed[i]).opening, Opening::kGood) << i;
  }
  for (const auto& packet : sealed) EXPECT_EQ(way.open(packet).opening, Opening::kReplayed);
}

TEST(SealedPackets, AForgedCounterDoesNotMoveTheWindow) {
  Direction way;
  const std::vector<std::byte> sealed = way.seal_one();
  auto forged = sealed;
  forged[wire::Bth::kSize + 8] = std::byte{0x7f};  // far ahead
  EXPECT_EQ(way.open(forged).opening, Opening::kForged);
  EXPECT_EQ(way.open(sealed).opening, Opening::kGood);
}

TEST(SealedPackets, KeysChangeAfterPacketsAndAfterTime) {
  Direction way{{.packets = 10, .age = seconds{60}}};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(way.open(way.seal_one()).opening, Opening::kGood);
  EXPECT_EQ(way.outgoing.epochs(), 9U);
  way.now += seconds{60};
  EXPECT_EQ(way.open(way.seal_one()).opening, Opening::kGood);
  EXPECT_EQ(way.outgoing.epochs(), 10U);
  // The number of an epoch has eight bits.
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(way.open(way.seal_one()).opening, Opening::kGood);
  EXPECT_GT(way.outgoing.epochs(), 1000U);
}

TEST(SealedPackets, AnEpochEndsAWhileAfterTheNextOneBegan) {
  Direction way{{.packets = 2, .age = seconds{3600}}};
  const auto first = way.seal_one();
  const auto second = way.seal_one();
  EXPECT_EQ(way.open(way.seal_one()).opening, Opening::kGood);  // of the next epoch
  EXPECT_EQ(way.open(first).opening, Opening::kGood);           // late, but not too late
  way.now += Incoming::kOverlap;
  EXPECT_EQ(way.open(second).opening, Opening::kOldEpoch);
}

TEST(SealedPackets, AnEpochIsNotSkipped) {
  Direction way{{.packets = 1, .age = seconds{3600}}};
  (void)way.seal_one();
  (void)way.seal_one();
  const auto third = way.seal_one();
  EXPECT_EQ(way.open(third).opening, Opening::kOldEpoch);
}

TEST(SealedPackets, ProofsHaveNoFrame) {
  Direction way;
  std::vector<std::byte> empty(Outgoing::kEmptySize);
  ASSERT_TRUE(way.outgoing.seal_nothing(way.flow, Qpn{9}, way.now, empty));
  EXPECT_EQ(way.open(empty).opening, Opening::kEmpty);
  EXPECT_EQ(way.open(empty).opening, Opening::kReplayed);
}

TEST(SealedPackets, BytesSealLikeFrames) {
  Direction way;
  const std::vector<std::byte> plain(wire::Bth::kSize + 20, std::byte{4});
  std::vector<std::byte> out(plain.size() + kOverhead);
  ASSERT_TRUE(way.outgoing.seal(way.flow, plain, way.now, out));
  const Opened opened = way.open(out);
  ASSERT_EQ(opened.opening, Opening::kGood);
  std::array<std::byte, wire::Bth::kSize> bth{};
  opened.headers.bth.encode(bth);
  EXPECT_TRUE(std::ranges::equal(bth, Bytes{plain}.first(wire::Bth::kSize)));
}

TEST(SealHeader, RefusesWhatItDoesNotKnow) {
  std::array<std::byte, Header::kSize> bytes{};
  const Header header{.kind = Kind::kAnswer, .epoch = 3, .spi = 0x01020304, .counter = 5};
  header.encode(bytes);
  EXPECT_EQ(Header::decode(bytes), header);
  for (const auto& [at, value] : {std::pair{0, 0x22}, {0, 0x15}, {2, 1}, {3, 1}}) {
    auto changed = bytes;
    changed[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_EQ(Header::decode(changed), std::nullopt) << at;
  }
}

}  // namespace
}  // namespace nerve::seal
