// Goal: headers survive encoding and decoding. Method: every opcode byte with seeded fields, every
// truncation, and random bytes through the BTH, every bit of which must survive.
#include "wire/headers.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/seeds.h"
#include "tests/wire/random_headers.h"

namespace nerve::wire {

TEST(Bth, KeepsEveryBitOfItsTwelveBytes) {
  test::for_each_seed(2000, [](std::uint64_t seed) {
    Prng prng{seed};
    std::array<std::byte, Bth::kSize> bytes{};
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
    const auto bth = Bth::decode(bytes);
    ASSERT_TRUE(bth);
    std::array<std::byte, Bth::kSize> again{};
    bth->encode(again);
    EXPECT_EQ(again, bytes);
  });
}

TEST(Headers, RoundTripForEveryOpcodeByte) {
  test::for_each_seed(50, [](std::uint64_t seed) {
    Prng prng{seed};
    for (unsigned code = 0; code < 256; ++code) {
      const Headers sent = random_headers(prng, static_cast<Opcode>(code));
      std::array<std::byte, kMaxHeadersSize> bytes{};
      ASSERT_LE(sent.size(), bytes.size());
      sent.encode(bytes);
      const auto got = Headers::decode(Bytes{bytes}.first(sent.size()));
      ASSERT_TRUE(got) << "opcode " << code;
      EXPECT_EQ(*got, sent) << "opcode " << code;
      EXPECT_EQ(got->size(), sent.size());
    }
  });
}

TEST(Headers, RefuseEveryTruncation) {
  for (unsigned code = 0; code < 256; ++code) {
    std::array<std::byte, kMaxHeadersSize> bytes{};
    bytes[0] = static_cast<std::byte>(code);
    const std::size_t size = Headers{.bth = {.opcode = static_cast<Opcode>(code)}}.size();
    for (std::size_t n = 0; n < size; ++n) {
      const auto got = Headers::decode(Bytes{bytes}.first(n));
      ASSERT_FALSE(got) << "opcode " << code << ", " << n << " bytes";
      EXPECT_EQ(got.error(), WireError::kTruncated);
    }
    EXPECT_TRUE(Headers::decode(Bytes{bytes}.first(size)));
  }
}

TEST(Headers, AnUnknownOpcodeIsABthAndNothingMore) {
  EXPECT_EQ((Headers{.bth = {.opcode = 0x15}}.size()), Bth::kSize);
  EXPECT_EQ((Headers{.bth = {.opcode = 0xff}}.size()), Bth::kSize);
}

// The order on the wire, byte by byte, for the packets with the most headers.
TEST(Headers, FlushIsFethThenReth) {
  Headers flush{.bth = {.opcode = opcode(Transport::kXrc, Operation::kFlush)}};
  flush.xrc_srq = 0x112233;
  flush.feth = {.placement = 0x2, .selectivity = 0x1};
  flush.reth = {.address = 0x0102030405060708, .rkey = RKey{0xa0b0c0d0}, .length = 0x00000040};
  std::array<std::byte, 36> bytes{};
  ASSERT_EQ(flush.size(), bytes.size());
  flush.encode(bytes);
  EXPECT_EQ(load_be<4>(bytes, 12), 0x00112233U);
  EXPECT_EQ(load_be<4>(bytes, 16), 0x00000012U);
  EXPECT_EQ(load_be<8>(bytes, 20), 0x0102030405060708U);
  EXPECT_EQ(load_be<4>(bytes, 28), 0xa0b0c0d0U);
  EXPECT_EQ(load_be<4>(bytes, 32), 0x40U);
}

TEST(Headers, TheImmediateComesLast) {
  Headers write{.bth = {.opcode = opcode(Transport::kRc, Operation::kWriteOnlyImm)}};
  write.reth.length = 7;
  write.immediate = 0xdeadbeef;
  std::array<std::byte, 32> bytes{};
  ASSERT_EQ(write.size(), bytes.size());
  write.encode(bytes);
  EXPECT_EQ(load_be<4>(bytes, 24), 7U);
  EXPECT_EQ(load_be<4>(bytes, 28), 0xdeadbeefU);
}

TEST(Headers, PadBringsAPayloadToFourBytes) {
  EXPECT_EQ(pad_for(0), 0);
  EXPECT_EQ(pad_for(1), 3);
  EXPECT_EQ(pad_for(2), 2);
  EXPECT_EQ(pad_for(3), 1);
  EXPECT_EQ(pad_for(0x8000'0001U), 3);
}

}  // namespace nerve::wire
