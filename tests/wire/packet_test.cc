// Goal: a frame survives encoding and decoding, whatever its headers, payload and address family.
// Method: seeded frames through both forms of a packet, every truncation, and single bit flips
// against the ICRC.
#include "wire/packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/seeds.h"
#include "tests/wire/random_headers.h"
#include "wire/crc32.h"
#include "wire/icrc.h"
#include "wire/ip.h"

namespace nerve::wire {
namespace {

std::vector<std::byte> random_bytes(Prng& prng, std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
  return bytes;
}

Gid random_gid(Prng& prng, bool ipv4) {
  const auto byte = [&] { return static_cast<std::uint8_t>(prng.next()); };
  if (ipv4) return Gid::ipv4(byte(), byte(), byte(), byte());
  Gid gid;
  for (std::byte& b : gid.bytes) b = static_cast<std::byte>(byte());
  gid.bytes[0] = std::byte{0xfd};  // never a mapped IPv4 address
  return gid;
}

Flow random_flow(Prng& prng) {
  const bool ipv4 = prng.chance(500);
  return {.source = random_gid(prng, ipv4),
          .destination = random_gid(prng, ipv4),
          .source_port = static_cast<std::uint16_t>(prng.next()),
          .traffic_class = static_cast<std::uint8_t>(prng.next()),
          .hop_limit = static_cast<std::uint8_t>(prng.next()),
          .flow_label = ipv4 ? 0 : static_cast<std::uint32_t>(prng.below(1U << 20U))};
}

// A frame with the data it refers to.
struct Sample {
  std::vector<std::byte> payload;
  std::vector<Piece> pieces;
  Frame frame;
  Envelope envelope;
};

// The payload in up to four pieces, some of them empty.
std::vector<Piece> cut(Prng& prng, const std::vector<std::byte>& payload) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  for (int i = 0; i < 3 && at < payload.size(); ++i) {
    const std::size_t n = prng.below(payload.size() - at + 1);
    pieces.push_back({.address = reinterpret_cast<std::uint64_t>(payload.data() + at),
                      .length = static_cast<std::uint32_t>(n)});
    at += n;
  }
  pieces.push_back({.address = reinterpret_cast<std::uint64_t>(payload.data() + at),
                    .length = static_cast<std::uint32_t>(payload.size() - at)});
  return pieces;
}

Sample random_sample(Prng& prng) {
  Sample sample;
  sample.payload = random_bytes(prng, prng.below(prng.chance(200) ? 4097 : 64));
  sample.pieces = cut(prng, sample.payload);
  const auto length = static_cast<std::uint32_t>(sample.payload.size());
  sample.frame = {.flow = random_flow(prng),
                  .headers = random_headers(prng, static_cast<Opcode>(prng.next())),
                  .payload = sample.pieces,
                  .payload_length = length};
  sample.frame.headers.bth.pad = pad_for(length);
  if (sample.frame.flow.destination.is_ipv4()) {
    sample.envelope.identification = static_cast<std::uint16_t>(prng.next());
  }
  return sample;
}

std::vector<std::byte> encoded(const Sample& sample) {
  std::vector<std::byte> bytes(packet_size(sample.frame));
  EXPECT_EQ(encode_packet(sample.frame, sample.envelope, bytes), bytes.size());
  return bytes;
}

void expect_equal(const Packet& got, const Sample& sent) {
  EXPECT_EQ(got.flow, sent.frame.flow);
  EXPECT_EQ(got.envelope, sent.envelope);
  EXPECT_EQ(got.headers, sent.frame.headers);
  EXPECT_TRUE(std::ranges::equal(got.payload, sent.payload));
  EXPECT_EQ(got.icrc, IcrcVerdict::kGood);
}

}  // namespace

TEST(Packet, RoundTripsInBothForms) {
  test::for_each_seed(2000, [](std::uint64_t seed) {
    Prng prng{seed};
    const Sample sent = random_sample(prng);
    const std::vector<std::byte> bytes = encoded(sent);
    const auto got = decode_packet(bytes);
    ASSERT_TRUE(got) << to_string(got.error());
    expect_equal(*got, sent);

    std::vector<std::byte> inner(udp_payload_size(sent.frame));
    ASSERT_EQ(encode_udp_payload(sent.frame, sent.envelope, inner), inner.size());
    std::vector<std::byte> around(inner.size() + 48);
    around.resize(encode_packet(sent.frame.flow, sent.envelope, inner, around));
    EXPECT_EQ(around, bytes);
    EXPECT_TRUE(std::ranges::equal(inner, Bytes{bytes}.last(inner.size())));
    const auto from_inner = decode_udp_payload(sent.frame.flow, sent.envelope, inner);
    ASSERT_TRUE(from_inner);
    expect_equal(*from_inner, sent);
  });
}

TEST(Packet, RefusesEveryTruncation) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    Prng prng{seed};
    const std::vector<std::byte> bytes = encoded(random_sample(prng));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      const auto got = decode_packet(Bytes{bytes}.first(n));
      ASSERT_FALSE(got) << n << " bytes of " << bytes.size();
      EXPECT_EQ(got.error(), WireError::kTruncated);
    }
  });
}

TEST(Packet, IgnoresWhatFollowsIt) {
  Prng prng{1};
  const Sample sent = random_sample(prng);
  std::vector<std::byte> bytes = encoded(sent);
  bytes.resize(bytes.size() + 18, std::byte{0xee});
  const auto got = decode_packet(bytes);
  ASSERT_TRUE(got);
  expect_equal(*got, sent);
}

// Exactly the bits that the network may change are outside the ICRC; every other flip is detected,
// or makes the packet something else than RoCEv2.
TEST(Packet, TheIcrcCoversEveryBitThatNoRouterMayChange) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    Prng prng{seed};
    const Sample sent = random_sample(prng);
    const std::vector<std::byte> bytes = encoded(sent);
    const bool ipv4 = sent.frame.flow.destination.is_ipv4();
    const std::size_t udp = ipv4 ? Ipv4Header::kSize : Ipv6Header::kSize;
    const auto variant = [&](std::size_t at, unsigned bit) {
      if (at == udp + 6 || at == udp + 7 || at == udp + UdpHeader::kSize + 4) return true;
      if (ipv4) return at == 1 || at == 8 || at == 10 || at == 11;
      return (at == 0 && bit < 4) || (at >= 1 && at <= 3) || at == 7;
    };
    for (std::size_t at = 0; at < std::min<std::size_t>(bytes.size(), 100); ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        std::vector<std::byte> flipped = bytes;
        flipped[at] ^= static_cast<std::byte>(1U << bit);
        const auto got = decode_packet(flipped);
        const bool good = got && got->icrc == IcrcVerdict::kGood;
        EXPECT_EQ(good, variant(at, bit)) << "byte " << at << " bit " << bit;
      }
    }
  });
}

TEST(Packet, KeepsPadBytesAsFound) {
  Prng prng{3};
  Sample sent = random_sample(prng);
  sent.frame.headers.bth.pad = 3;
  sent.envelope.pad = {std::byte{1}, std::byte{2}, std::byte{3}};
  const std::vector<std::byte> bytes = encoded(sent);
  const auto got = decode_packet(bytes);
  ASSERT_TRUE(got);
  expect_equal(*got, sent);
}

TEST(Packet, RefusesMorePadThanPayload) {
  Frame frame{.headers = {.bth = {.opcode = opcode(Transport::kRc, Operation::kSendOnly)}}};
  frame.flow.destination = Gid::ipv4(10, 0, 0, 1);
  std::vector<std::byte> bytes(packet_size(frame));
  encode_packet(frame, {}, bytes);
  bytes[Ipv4Header::kSize + UdpHeader::kSize + 1] |= std::byte{0x30};
  const auto got = decode_packet(bytes);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error(), WireError::kBadLength);
}

TEST(Packet, TellsOtherProtocolsFromBrokenRoce) {
  Prng prng{5};
  Sample sent = random_sample(prng);
  sent.frame.flow.source = Gid::ipv4(10, 0, 0, 2);
  sent.frame.flow.destination = Gid::ipv4(10, 0, 0, 1);
  const std::vector<std::byte> good = encoded(sent);
  const auto error_with = [&](std::size_t at, unsigned value) {
    std::vector<std::byte> bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    const auto got = decode_packet(bytes);
    EXPECT_FALSE(got);
    return got ? WireError::kUnsupported : got.error();  // never returned by decoding
  };
  EXPECT_EQ(error_with(0, 0x25), WireError::kNotRoce);  // IP version 2
  EXPECT_EQ(error_with(9, 6), WireError::kNotRoce);     // TCP
  EXPECT_EQ(error_with(6, 0x20), WireError::kNotRoce);  // a fragment
  EXPECT_EQ(error_with(22, 0), WireError::kNotRoce);    // another UDP port
  EXPECT_EQ(error_with(0, 0x46), WireError::kNotRoce);  // options, and no RoCE port after them
  EXPECT_EQ(error_with(25, 0), WireError::kBadLength);  // UDP and IP disagree
}

TEST(Packet, ReadsPayloadThroughAPort) {
  struct Counting : MemoryPort {
    bool contents = true;
    void read(std::uint64_t address, MutableBytes into) override {
      for (std::byte& b : into) b = static_cast<std::byte>(address++);
    }
    void write(std::uint64_t, Bytes) override {}
    std::uint64_t compare_swap(std::uint64_t, std::uint64_t, std::uint64_t) override { return 0; }
    std::uint64_t fetch_add(std::uint64_t, std::uint64_t) override { return 0; }
    void store_word(std::uint64_t, std::uint64_t) override {}
    [[nodiscard]] bool has_contents() const override { return contents; }
  } port;
  const Piece piece{.address = 7, .length = 4, .port = &port};
  Frame frame{.headers = {.bth = {.opcode = opcode(Transport::kRc, Operation::kSendOnly)}},
              .payload = {&piece, 1},
              .payload_length = 4};
  for (const bool contents : {true, false}) {
    port.contents = contents;
    std::vector<std::byte> bytes(packet_size(frame), std::byte{0xaa});
    encode_packet(frame, {}, bytes);
    const auto got = decode_packet(bytes);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->icrc, IcrcVerdict::kGood);
    EXPECT_EQ(load_be<4>(got->payload, 0), contents ? 0x0708090aU : 0U);
  }
}

TEST(Icrc, StartsAfterEightBytesOfOnes) {
  std::array<std::byte, 8> ones;
  ones.fill(std::byte{0xff});
  EXPECT_EQ(crc32(~0U, ones), 0xdebb20e3U);
}

TEST(Ip, ChecksumOfAnEncodedHeaderIsZero) {
  test::for_each_seed(200, [](std::uint64_t seed) {
    Prng prng{seed};
    std::array<std::byte, Ipv4Header::kSize> bytes{};
    const Ipv4Header sent{.traffic_class = static_cast<std::uint8_t>(prng.next()),
                          .total_length = static_cast<std::uint16_t>(prng.next()),
                          .identification = static_cast<std::uint16_t>(prng.next()),
                          .fragment = static_cast<std::uint16_t>(prng.next()),
                          .hop_limit = static_cast<std::uint8_t>(prng.next()),
                          .protocol = static_cast<std::uint8_t>(prng.next()),
                          .source = random_gid(prng, true),
                          .destination = random_gid(prng, true)};
    sent.encode(bytes);
    EXPECT_EQ(internet_checksum(bytes), 0);
    const auto got = Ipv4Header::decode(bytes);
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, sent);
  });
}

}  // namespace nerve::wire
