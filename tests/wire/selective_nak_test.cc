// Goal: the selective NAK is one meaning in two representations, and to whoever does not know it a
// NAK of a reserved code. Method: octets written by hand, all syndromes, all PSNs of interest.
#include "wire/selective_nak.h"

#include <gtest/gtest.h>

#include <array>

#include "base/prng.h"
#include "wire/describe.h"

namespace nerve::wire {
namespace {

constexpr Opcode kAck = opcode(Transport::kRc, Operation::kAcknowledge);

Headers nak(Psn expected, Psn arrived) {
  Headers headers{.bth = {.opcode = kAck, .dest_qp = Qpn{0x12}, .psn = expected}};
  headers.aeth = selective_nak(arrived);
  return headers;
}

TEST(SelectiveNak, HasTheOctetsThatTheDecisionTells) {
  const Headers headers = nak(Psn{0x000102}, Psn{0xfffefd});
  ASSERT_EQ(headers.size(), 16U);
  std::array<std::byte, 16> octets{};
  headers.encode(octets);
  const std::array<unsigned, 16> expected{0x11, 0, 0xff, 0xff, 0,    0,    0,    0x12,
                                          0,    0, 0x01, 0x02, 0x70, 0xff, 0xfe, 0xfd};
  for (std::size_t i = 0; i < octets.size(); ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(octets[i]), expected[i]) << i;
  }
}

TEST(SelectiveNak, MeansTheSameAsValueAndAsOctets) {
  Prng prng{7};
  for (int i = 0; i < 1000; ++i) {
    const Psn arrived{static_cast<std::uint32_t>(prng.next())};
    const Headers headers = nak(Psn{static_cast<std::uint32_t>(prng.next())}, arrived);
    std::array<std::byte, 16> octets{};
    headers.encode(octets);
    const auto decoded = Headers::decode(octets);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, headers);
    EXPECT_EQ(arrived_out_of_order(decoded->aeth), arrived);
    for (std::size_t size = 0; size < octets.size(); ++size) {
      EXPECT_FALSE(Headers::decode(Octets{octets}.first(size))) << size;
    }
  }
}

// The upper bit of a syndrome is reserved and ignored, as in every other one.
TEST(SelectiveNak, IsNoOtherSyndrome) {
  for (unsigned octet = 0; octet < 256; ++octet) {
    const Aeth aeth{.syndrome = static_cast<std::uint8_t>(octet), .msn = 5};
    EXPECT_EQ(arrived_out_of_order(aeth).has_value(), (octet & 0x7fU) == 0x70U) << octet;
  }
}

TEST(SelectiveNak, IsToldInWords) {
  EXPECT_EQ(describe(nak(Psn{0xabc}, Psn{0xabe}), 0),
            "RC_ACKNOWLEDGE qp=0x000012 psn=0x000abc aeth[nak selective, arrived=0x000abe] "
            "payload=0");
}

}  // namespace
}  // namespace nerve::wire
