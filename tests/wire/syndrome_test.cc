#include "wire/syndrome.h"

#include <gtest/gtest.h>

namespace nerve::wire {
using namespace std::chrono_literals;

TEST(Syndrome, PacksAndUnpacks) {
  EXPECT_EQ(syndrome(AckKind::kAck, kCreditsUnknown), 0x1f);
  EXPECT_EQ(syndrome(AckKind::kRnrNak, 12), 0x2c);
  EXPECT_EQ(syndrome(NakCode::kSequence), 0x60);
  EXPECT_EQ(syndrome(NakCode::kRemoteOperation), 0x63);
  for (unsigned byte = 0; byte < 128; ++byte) {
    const auto s = static_cast<std::uint8_t>(byte);
    EXPECT_EQ(syndrome(kind_of(s), value_of(s)), s);
  }
}

// From code 3 on the codes alternate between 2^n and 3 * 2^(n-1), as the table must.
TEST(Syndrome, CreditsDoubleEverySecondCode) {
  for (std::uint8_t code = 0; code < 3; ++code) EXPECT_EQ(credits_of(code), code);
  for (std::uint8_t code = 5; code < kCreditsUnknown; ++code) {
    EXPECT_EQ(*credits_of(code), 2 * *credits_of(static_cast<std::uint8_t>(code - 2)));
  }
  EXPECT_EQ(credits_of(30), 32768U);
  EXPECT_EQ(credits_of(kCreditsUnknown), std::nullopt);
}

TEST(Syndrome, CreditCodeNeverPromisesTooMuch) {
  for (std::uint32_t receives = 0; receives < 70000; ++receives) {
    const std::uint8_t code = credit_code(receives);
    ASSERT_LT(code, kCreditsUnknown);
    ASSERT_LE(*credits_of(code), receives);
    if (code + 1 < kCreditsUnknown) {
      ASSERT_GT(*credits_of(static_cast<std::uint8_t>(code + 1)), receives);
    }
  }
  EXPECT_EQ(credit_code(~0U), 30);
}

TEST(Syndrome, RnrTimerCodes) {
  EXPECT_EQ(rnr_delay(0), Duration{655'360us});
  EXPECT_EQ(rnr_delay(1), Duration{10us});
  EXPECT_EQ(rnr_delay(12), Duration{640us});
  EXPECT_EQ(rnr_delay(14), Duration{1'280us});
  EXPECT_EQ(rnr_delay(26), Duration{81'920us});
  EXPECT_EQ(rnr_delay(31), Duration{491'520us});
  for (std::uint8_t code = 5; code < 32; ++code) {
    EXPECT_EQ(rnr_delay(code), 2 * rnr_delay(static_cast<std::uint8_t>(code - 2)));
  }
}

TEST(Syndrome, AckTimeoutIsAnExponent) {
  EXPECT_EQ(ack_timeout(0), std::nullopt);
  EXPECT_EQ(ack_timeout(1), Duration{8192ns});
  EXPECT_EQ(ack_timeout(14), Duration{67'108'864ns});
  EXPECT_EQ(ack_timeout(31), Duration{8'796'093'022'208ns});
}

}  // namespace nerve::wire
