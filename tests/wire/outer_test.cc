// Goal: a CRC computed once for a train is that of each packet, and an identification that was not
// seen is found. Method: random frames against encode_udp_payload and decode_udp_payload with the
// whole envelope.
#include "wire/outer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/seeds.h"
#include "tests/wire/random_headers.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace nerve::wire {
namespace {

struct Train {
  Flow flow;
  std::vector<std::byte> payload;
  Piece piece;
  Frame frame;

  explicit Train(Prng& prng) : payload(prng.below(prng.chance(300) ? 4097 : 300)) {
    const bool ipv4 = prng.chance(700);
    const auto byte = [&] { return static_cast<std::uint8_t>(prng.next()); };
    for (Gid* gid : {&flow.source, &flow.destination}) {
      *gid = Gid::ipv4(byte(), byte(), byte(), byte());
      if (!ipv4) gid->bytes[0] = std::byte{0xfd};
    }
    flow.source_port = static_cast<std::uint16_t>(prng.next());
    for (std::byte& o : payload) o = static_cast<std::byte>(prng.next());
    piece = {.address = reinterpret_cast<std::uint64_t>(payload.data()),
             .length = static_cast<std::uint32_t>(payload.size())};
    frame = {.flow = flow,
             .headers = random_headers(prng, static_cast<Opcode>(prng.next())),
             .payload = {&piece, 1},
             .payload_length = piece.length};
    frame.headers.bth.pad = pad_for(piece.length);
  }
  [[nodiscard]] std::vector<std::byte> encoded(const Envelope& envelope) const {
    std::vector<std::byte> bytes(udp_payload_size(frame));
    encode_udp_payload(frame, envelope, bytes);
    return bytes;
  }
};

}  // namespace

TEST(OuterSum, IsWhatEachPacketOfATrainBeginsWith) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    Prng prng{seed};
    const Train train{prng};
    const OuterSum outer{train.flow, udp_payload_size(train.frame)};
    for (int i = 0; i < 4; ++i) {
      const auto id = static_cast<std::uint16_t>(prng.next());
      std::vector<std::byte> bytes(udp_payload_size(train.frame));
      EXPECT_EQ(encode_after_sum(train.frame, outer(id), bytes), bytes.size());
      EXPECT_EQ(bytes, train.encoded({.identification = id}));
    }
  });
}

TEST(OuterSum, FindsTheIdentificationOfAGoodPacket) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    Prng prng{seed};
    const Train train{prng};
    const bool ipv4 = train.flow.destination.is_ipv4();
    OuterSum outer{train.flow, udp_payload_size(train.frame)};
    for (const std::uint16_t fragment : {std::uint16_t{0x4000}, std::uint16_t{0}}) {
      const auto id = static_cast<std::uint16_t>(prng.next());
      const auto guess = static_cast<std::uint16_t>(prng.chance(500) ? id : prng.next());
      Frame got{.flow = train.flow};
      Piece piece;
      const auto bytes = train.encoded({.identification = id, .fragment = fragment});
      const auto verdict = decode_after_sum(outer, guess, bytes, got, piece);
      ASSERT_TRUE(verdict);
      EXPECT_EQ(verdict->icrc, IcrcVerdict::kGood);
      EXPECT_EQ(verdict->identification, ipv4 ? id : guess);
      EXPECT_EQ(got.headers, train.frame.headers);
      ASSERT_EQ(got.payload_length, train.payload.size());
      const auto* begin = reinterpret_cast<const std::byte*>(piece.address);
      EXPECT_TRUE(std::equal(train.payload.begin(), train.payload.end(), begin));
    }
  });
}

// Some flips are explained by chance, so the seed is fixed and they are counted. Flips of byte 4
// are outside the CRC.
TEST(OuterSum, DamageIsNotExplainedAway) {
  int explained = 0;
  int damaged = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Prng prng{seed};
    const Train train{prng};
    OuterSum outer{train.flow, udp_payload_size(train.frame)};
    auto bytes = train.encoded({.identification = 7});
    for (int flips = 0; flips < 3; ++flips) {
      const std::size_t at = Bth::kSize + prng.below(bytes.size() - Bth::kSize);
      bytes[at] ^= static_cast<std::byte>(1 + prng.below(255));
    }
    Frame got;
    Piece piece;
    const auto verdict = decode_after_sum(outer, 0, bytes, got, piece);
    if (!verdict || bytes == train.encoded({.identification = 7})) continue;
    ++damaged;
    if (verdict->icrc == IcrcVerdict::kGood) ++explained;
  }
  EXPECT_GT(damaged, 2900);
  EXPECT_LE(explained, 2);
}

TEST(IcrcFollow, KeepsGoodOnesGoodAndBadOnesBad) {
  test::for_each_seed(300, [](std::uint64_t seed) {
    Prng prng{seed};
    Train train{prng};
    auto bytes = train.encoded({});
    const auto port = static_cast<std::uint16_t>(prng.next());
    icrc_follow(bytes, kAfterUdpSourcePort,
                static_cast<std::uint16_t>(port ^ train.flow.source_port));
    train.frame.flow.source_port = port;
    EXPECT_EQ(bytes, train.encoded({}));
    if (!train.flow.destination.is_ipv4()) return;
    icrc_follow(bytes, kAfterIpv4Identification, 0x1234);
    EXPECT_EQ(bytes, train.encoded({.identification = 0x1234}));

    bytes.back() ^= std::byte{1};
    icrc_follow(bytes, kAfterIpv4Identification, 0x1234);
    const auto packet = decode_udp_payload(train.frame.flow, {}, bytes);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->icrc, IcrcVerdict::kBad);
  });
  std::vector<std::byte> three(3);
  icrc_follow(three, kAfterUdpSourcePort, 1);  // no room for an ICRC: unchanged
  EXPECT_EQ(three, std::vector<std::byte>(3));
}

}  // namespace nerve::wire
