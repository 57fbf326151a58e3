#include "wire/describe.h"

#include <gtest/gtest.h>

#include "tests/seeds.h"
#include "tests/wire/random_headers.h"
#include "wire/mad_peek.h"

namespace nerve::wire {
namespace {

Gid ipv6(std::initializer_list<std::uint16_t> groups) {
  Gid gid;
  std::size_t at = 0;
  for (const std::uint16_t group : groups) {
    store_be<2>(gid.bytes, at, group);
    at += 2;
  }
  return gid;
}

}  // namespace

TEST(GidText, FollowsRfc5952) {
  EXPECT_EQ(to_string(Gid::ipv4(10, 77, 0, 255)), "10.77.0.255");
  EXPECT_EQ(to_string(Gid{}), "::");
  EXPECT_EQ(to_string(ipv6({0, 0, 0, 0, 0, 0, 0, 1})), "::1");
  EXPECT_EQ(to_string(ipv6({0xfd77, 0, 0, 0, 0, 0, 0, 2})), "fd77::2");
  EXPECT_EQ(to_string(ipv6({0xfe80, 0, 0, 0, 0x5054, 0xff, 0xfe77, 0})), "fe80::5054:ff:fe77:0");
  EXPECT_EQ(to_string(ipv6({1, 0, 2, 0, 3, 0, 4, 0})), "1:0:2:0:3:0:4:0");
  EXPECT_EQ(to_string(ipv6({1, 0, 0, 2, 0, 0, 3, 4})), "1::2:0:0:3:4");
  EXPECT_EQ(to_string(ipv6({1, 2, 3, 4, 5, 6, 0, 0})), "1:2:3:4:5:6::");
}

TEST(Describe, SpellsOutSyndromes) {
  EXPECT_EQ(describe_syndrome(0x1f), "ack, credits=unknown");
  EXPECT_EQ(describe_syndrome(0x0c), "ack, credits=64");
  EXPECT_EQ(describe_syndrome(0x2c), "rnr nak, wait=640us");
  EXPECT_EQ(describe_syndrome(0x62), "nak remote access");
  EXPECT_EQ(describe_syndrome(0x7f), "nak 31");
  EXPECT_EQ(describe_syndrome(0x41), "reserved 0x41");
}

TEST(Describe, APacketInALine) {
  Headers ack{.bth = {.opcode = opcode(Transport::kRc, Operation::kAcknowledge),
                      .dest_qp = Qpn{0x12},
                      .psn = Psn{0xabc}}};
  ack.aeth = {.syndrome = 0x60, .msn = 4};
  EXPECT_EQ(describe(ack, 0),
            "RC_ACKNOWLEDGE qp=0x000012 psn=0x000abc aeth[nak psn sequence, msn=4] payload=0");
  const Headers unknown{.bth = {.opcode = 0xff, .pad = 2, .ack_request = true, .version = 1}};
  EXPECT_EQ(describe(unknown, 6),
            "opcode 0xff (unknown) qp=0x000000 psn=0x000000 ack pad=2 version=1 payload=6");
}

TEST(Describe, PeeksIntoManagementDatagrams) {
  const Headers headers{
      .bth = {.opcode = opcode(Transport::kUd, Operation::kSendOnly), .dest_qp = Qpn{1}}};
  std::vector<std::byte> mad(MadPeek::kSize);
  mad[1] = std::byte{7};
  mad[3] = std::byte{3};
  store_be<8>(mad, 8, 0x99);
  store_be<2>(mad, 16, 0x13);
  const std::string line = describe(headers, 256, mad);
  EXPECT_NE(line.find("mad[cm method=0x03 attribute=0x0013 REP tid=0x99]"), std::string::npos)
      << line;
  EXPECT_FALSE(peek_mad(headers, Bytes{mad}.first(255)));
}

// Whatever the headers, the description is one line and names the opcode.
TEST(Describe, HasWordsForEverything) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    Prng prng{seed};
    for (unsigned code = 0; code < 256; ++code) {
      const std::string line = describe(random_headers(prng, static_cast<Opcode>(code)), 1);
      EXPECT_EQ(line.find('\n'), std::string::npos);
      const OpcodeInfo* info = find_opcode(static_cast<Opcode>(code));
      EXPECT_EQ(line.rfind(info != nullptr ? info->name : "opcode 0x", 0), 0U) << line;
    }
  });
}

}  // namespace nerve::wire
