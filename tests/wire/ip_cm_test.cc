#include "wire/ip_cm.h"

#include <gtest/gtest.h>

#include <array>

#include "base/prng.h"
#include "tests/seeds.h"

namespace nerve::wire {
namespace {

using HeaderBytes = std::array<std::byte, IpCmHeader::kSize>;

Gid random_gid(Prng& prng, bool ipv4) {
  Gid gid;
  for (std::byte& byte : gid.bytes) byte = static_cast<std::byte>(prng.next());
  if (!ipv4) return gid;
  const auto byte = [&] { return static_cast<std::uint8_t>(prng.next()); };
  return Gid::ipv4(byte(), byte(), byte(), byte());
}

TEST(IpCmHeader, RoundTrips) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    Prng prng{seed};
    const bool ipv4 = prng.chance(500);
    const IpCmHeader sent{.source_port = static_cast<std::uint16_t>(prng.next()),
                          .source = random_gid(prng, ipv4),
                          .destination = random_gid(prng, ipv4)};
    HeaderBytes bytes;
    bytes.fill(std::byte{0xee});
    sent.encode(bytes);
    EXPECT_EQ(bytes[1], std::byte{ipv4 ? std::uint8_t{0x40} : std::uint8_t{0x60}});
    const auto got = IpCmHeader::decode(bytes);
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, sent);
  });
}

TEST(IpCmHeader, RefusesEveryTruncation) {
  HeaderBytes bytes{};
  bytes[1] = std::byte{0x40};
  EXPECT_TRUE(IpCmHeader::decode(bytes));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(IpCmHeader::decode(Bytes{bytes}.first(n)).error(), WireError::kTruncated) << n;
  }
}

TEST(IpCmHeader, RefusesVersionsItDoesNotKnow) {
  for (unsigned version = 0; version < 16; ++version) {
    HeaderBytes bytes{};
    bytes[1] = static_cast<std::byte>(version << 4U);
    EXPECT_EQ(IpCmHeader::decode(bytes).has_value(), version == 4 || version == 6) << version;
    bytes[0] = std::byte{0x10};
    EXPECT_FALSE(IpCmHeader::decode(bytes));
  }
}

// Otherwise a peer could make us hold a header that we cannot encode.
TEST(IpCmHeader, RefusesAMappedAddressCalledIpv6) {
  HeaderBytes bytes{};
  bytes[1] = std::byte{0x60};
  bytes[4 + 10] = bytes[4 + 11] = std::byte{0xff};
  EXPECT_EQ(IpCmHeader::decode(bytes).error(), WireError::kBadField);
}

TEST(IpService, LivesInTheServiceId) {
  EXPECT_EQ(service_id({PortSpace::kTcp, 7174}), ServiceId{0x0106'1c06});
  EXPECT_EQ(service_id({PortSpace::kUdp, 0xffff}), ServiceId{0x0111'ffff});
  EXPECT_EQ(ip_service(ServiceId{0x0111'0001}), (IpService{PortSpace::kUdp, 1}));
  EXPECT_EQ(ip_service(ServiceId{0x0206'1c06}), std::nullopt);
  EXPECT_EQ(ip_service(ServiceId{0x1'0106'1c06}), std::nullopt);
}

}  // namespace
}  // namespace nerve::wire
