// Goal: the fields of Ultra Ethernet survive a round trip through the bytes of a packet.
#include "wire/ultra_ethernet.h"

#include <gtest/gtest.h>

#include <array>

#include "wire/selective_nak.h"

namespace nerve::wire {
namespace {

Headers through_bytes(const Headers& headers) {
  std::array<std::byte, kMaxHeadersSize> bytes{};
  headers.encode(bytes);
  const auto decoded = Headers::decode(bytes);
  EXPECT_TRUE(decoded);
  return decoded ? *decoded : Headers{};
}

Headers acknowledge(const Aeth& aeth) {
  Headers headers;
  headers.bth.opcode = opcode(Transport::kRc, Operation::kAcknowledge);
  headers.aeth = aeth;
  return headers;
}

}  // namespace

TEST(UltraEthernet, AnswersSurviveTheWire) {
  const Headers trimmed = through_bytes(acknowledge(trimmed_nak(Psn{0xab'cdef})));
  EXPECT_TRUE(is_trimmed_nak(trimmed.aeth));
  EXPECT_EQ(trimmed.aeth.msn, 0xab'cdefU);
  const Headers credit = through_bytes(acknowledge(receiver_credit(0x1ab'cdef)));
  EXPECT_TRUE(is_receiver_credit(credit.aeth));
  EXPECT_EQ(credit.aeth.msn, 0xab'cdefU);
  for (const Headers& one : {trimmed, credit}) {
    EXPECT_FALSE(arrived_out_of_order(Psn{}, one.aeth));
    EXPECT_NE(is_trimmed_nak(one.aeth), is_receiver_credit(one.aeth));
  }
}

TEST(UltraEthernet, DemandIsRoundedDownByLessThanAQuarter) {
  std::uint32_t last = 0;
  for (std::uint32_t packets = 0; packets < 70'000; ++packets) {
    const std::uint32_t told = demand_of(demand_code(packets));
    EXPECT_LE(told, packets);
    EXPECT_GE(told, last);
    if (packets < 16) {
      EXPECT_EQ(told, packets);
    }
    if (packets < 57'344) {
      EXPECT_GT(told * 5 + 4, packets * 4) << packets;
    }
    last = told;
  }
  EXPECT_EQ(demand_of(demand_code(~0ULL)), 57'344U);
}

TEST(UltraEthernet, DemandSurvivesTheWireBesideSelectiveRepeat) {
  for (std::uint8_t code = 0; code < 64; ++code) {
    for (const std::uint8_t capable : {std::uint8_t{0}, kSelectiveCapable}) {
      Headers headers;
      headers.bth.opcode = opcode(Transport::kRc, Operation::kWriteMiddle);
      headers.bth.reserved7 = capable;
      set_demand(headers.bth, code);
      const Headers decoded = through_bytes(headers);
      EXPECT_EQ(demand_of(decoded.bth), demand_of(code));
      EXPECT_EQ(is_selective_capable(decoded.bth), capable != 0);
    }
  }
}

}  // namespace nerve::wire
