// Goal: the selective NAK has one meaning in two representations, and is a NAK with a reserved code
// for other implementations. Method: hand-written bytes, all syndromes, all interesting PSNs.
#include "wire/selective_nak.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/prng.h"
#include "wire/describe.h"
#include "wire/icrc.h"

namespace nerve::wire {
namespace {

constexpr Opcode kAck = opcode(Transport::kRc, Operation::kAcknowledge);

Headers nak(Psn expected, Psn arrived) {
  Headers headers{.bth = {.opcode = kAck, .dest_qp = Qpn{0x12}, .psn = expected}};
  headers.aeth = selective_nak(arrived);
  return headers;
}

TEST(SelectiveNak, HasTheDocumentedBytes) {
  const Headers headers = nak(Psn{0x000102}, Psn{0xfffefd});
  ASSERT_EQ(headers.size(), 16U);
  std::array<std::byte, 16> bytes{};
  headers.encode(bytes);
  const std::array<unsigned, 16> expected{0x11, 0, 0xff, 0xff, 0,    0,    0,    0x12,
                                          0,    0, 0x01, 0x02, 0x70, 0xff, 0xfe, 0xfd};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), expected[i]) << i;
  }
}

TEST(SelectiveNak, MeansTheSameAsValueAndAsBytes) {
  Prng prng{7};
  for (int i = 0; i < 1000; ++i) {
    const Psn arrived{static_cast<std::uint32_t>(prng.next())};
    const Headers headers = nak(Psn{static_cast<std::uint32_t>(prng.next())}, arrived);
    std::array<std::byte, 16> bytes{};
    headers.encode(bytes);
    const auto decoded = Headers::decode(bytes);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, headers);
    EXPECT_EQ(arrived_out_of_order(decoded->bth.psn, decoded->aeth), PsnRun{arrived});
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(Headers::decode(Bytes{bytes}.first(size))) << size;
    }
  }
}

// The top bit of a syndrome is reserved and ignored, as in every other one.
TEST(SelectiveNak, IsNoOtherSyndrome) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const Aeth aeth{.syndrome = static_cast<std::uint8_t>(byte), .msn = 5};
    EXPECT_EQ(arrived_out_of_order(Psn{}, aeth).has_value(),
              (byte & 0x7fU) == 0x70U || (byte & 0x7fU) == 0x71U)
        << byte;
  }
}

TEST(SelectiveNak, NamesARunUpToItsLimits) {
  const auto round_trip = [](Psn expected, const PsnRun& run) {
    const Aeth aeth = selective_nak(expected, run);
    EXPECT_LE(aeth.msn, 0xff'ffffU);
    EXPECT_EQ(arrived_out_of_order(expected, aeth), run);
  };
  for (const Psn expected : {Psn{0}, Psn{0x12'3456}, Psn{0xff'fffe}}) {
    for (const std::uint32_t ahead : {1U, 2U, 0x800U, kMaxRunStart}) {
      for (const std::uint32_t count : {1U, 64U, kMaxRunLength}) {
        round_trip(expected, {.first = expected + ahead, .count = count});
      }
    }
  }
}

TEST(SelectiveNak, CapabilityIsABitThatTheIcrcCovers) {
  const Bth bth{.opcode = 0x11, .reserved7 = kSelectiveCapable};
  std::array<std::byte, Bth::kSize> bytes{};
  bth.encode(bytes);
  EXPECT_EQ(std::to_integer<unsigned>(bytes[8]), 1U);
  std::array<std::byte, Bth::kSize> without = bytes;
  without[8] = std::byte{0};
  EXPECT_NE(icrc_bth(0, bytes), icrc_bth(0, without));
  EXPECT_TRUE(is_selective_capable(*Bth::decode(bytes)));
  EXPECT_FALSE(is_selective_capable(*Bth::decode(without)));
}

TEST(SelectiveNak, RunAndCapabilityAreDescribed) {
  Headers headers = nak(Psn{0xabc}, Psn{0});
  headers.bth.reserved7 = kSelectiveCapable;
  headers.aeth = selective_nak(Psn{0xabc}, {.first = Psn{0xac0}, .count = 7});
  EXPECT_EQ(describe(headers, 0),
            "RC_ACKNOWLEDGE qp=0x000012 psn=0x000abc selective aeth[nak selective run, "
            "arrived=0x000ac0 and 6 more] payload=0");
  headers.bth.reserved7 = 0x7f;
  EXPECT_NE(describe(headers, 0).find(" selective reserved7=0x7e"), std::string::npos);
}

TEST(SelectiveNak, IsDescribed) {
  EXPECT_EQ(describe(nak(Psn{0xabc}, Psn{0xabe}), 0),
            "RC_ACKNOWLEDGE qp=0x000012 psn=0x000abc aeth[nak selective, arrived=0x000abe] "
            "payload=0");
}

}  // namespace
}  // namespace nerve::wire
