// Goal: the port knows its addresses and partitions, raises one event per change, and rejects
// addresses that no frame could reach. Source ports agree with captures of Linux Soft-RoCE.
#include "nic/ethernet/port.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::gid_of;
using test::said;

struct PortTest : ::testing::Test {
  NicConfig config{.pkeys = {0xffff, 0x7002, 0x8003}, .gid_table_size = 4};
  EventQueue events;
  Port port{config, events};

  bool told(EventKind kind) {
    const auto event = events.pop();
    return event && event->kind == kind && events.empty();
  }
};

TEST_F(PortTest, GidTableTellsEachChangeOnce) {
  ASSERT_TRUE(port.set_gid(3, gid_of(1, false)));
  EXPECT_TRUE(told(EventKind::kGidChange));
  ASSERT_TRUE(port.set_gid(3, gid_of(1, false)));
  EXPECT_TRUE(events.empty()) << "nothing changed";
  EXPECT_EQ(*port.gid(3), gid_of(1, false));
  EXPECT_TRUE(port.owns(gid_of(1, false)));
  EXPECT_FALSE(port.owns(gid_of(2, false)));
}

TEST_F(PortTest, ZeroEmptiesAnEntry) {
  ASSERT_TRUE(port.set_gid(0, gid_of(1, false)));
  ASSERT_TRUE(port.set_gid(0, {}));
  EXPECT_FALSE(port.owns(gid_of(1, false)));
  EXPECT_FALSE(port.owns({})) << "an empty entry is nobody's address";
}

TEST_F(PortTest, RefusesWhatCannotBeAnAddressOfOurs) {
  EXPECT_EQ(said(port.set_gid(4, gid_of(1, false))), "invalid: set gid: index beyond the table");
  EXPECT_EQ(said(port.gid(4)), "invalid: query gid: index beyond the table");
  EXPECT_EQ(said(port.set_gid(0, wire::Gid::ipv4(224, 0, 0, 1))),
            "invalid: set gid: a multicast address");
  wire::Gid group;
  group.bytes[0] = std::byte{0xff};
  EXPECT_EQ(said(port.set_gid(0, group)), "invalid: set gid: a multicast address");
  EXPECT_TRUE(events.empty());
}

TEST_F(PortTest, UpAndDownAreToldOnce) {
  EXPECT_TRUE(port.active());
  port.set_active(true);
  EXPECT_TRUE(events.empty());
  port.set_active(false);
  EXPECT_TRUE(told(EventKind::kPortError));
  port.set_active(false);
  EXPECT_TRUE(events.empty());
  port.set_active(true);
  EXPECT_TRUE(told(EventKind::kPortActive));
}

// Full members of a partition (high bit set) talk to all members, limited ones to full ones only.
TEST_F(PortTest, PartitionsMeetByTheirLowBitsAndAFullMember) {
  const auto meet = [](std::uint16_t mine, std::uint16_t theirs) {
    return Port::same_partition(PKey{mine}, PKey{theirs});
  };
  EXPECT_TRUE(meet(0xffff, 0xffff));
  EXPECT_TRUE(meet(0xffff, 0x7fff));
  EXPECT_TRUE(meet(0x7fff, 0xffff));
  EXPECT_FALSE(meet(0x7fff, 0x7fff)) << "two limited members";
  EXPECT_FALSE(meet(0xffff, 0x8001)) << "two partitions";
  EXPECT_FALSE(meet(0x8000, 0x8000)) << "partition zero is invalid";
  EXPECT_FALSE(meet(0x0000, 0x8000));
}

TEST_F(PortTest, FindsTheTableEntryOfAReceivedPkey) {
  EXPECT_EQ(port.match_pkey(PKey{0xffff}), 0);
  EXPECT_EQ(port.match_pkey(PKey{0xf002}), 1);
  EXPECT_EQ(port.match_pkey(PKey{0x7002}), std::nullopt) << "both limited";
  EXPECT_EQ(port.match_pkey(PKey{0x0003}), 2);
  EXPECT_EQ(port.match_pkey(PKey{0x8004}), std::nullopt);
  EXPECT_EQ(port.pkey(1), PKey{0x7002});
  EXPECT_EQ(port.pkey(3), std::nullopt);
}

TEST_F(PortTest, MakesAFlowFromAnAddress) {
  ASSERT_TRUE(port.set_gid(2, gid_of(1, true)));
  const auto flow = port.flow_to({.destination = gid_of(2, true),
                                  .source_gid_index = 2,
                                  .traffic_class = 0x68,
                                  .hop_limit = 5,
                                  .flow_label = 0xff12345});
  ASSERT_TRUE(flow);
  EXPECT_EQ(flow->source, gid_of(1, true));
  EXPECT_EQ(flow->destination, gid_of(2, true));
  EXPECT_EQ(flow->traffic_class, 0x68);
  EXPECT_EQ(flow->hop_limit, 5);
  EXPECT_EQ(flow->flow_label, 0x12345U) << "twenty bits";
  const auto default_hops =
      port.flow_to({.destination = gid_of(2, true), .source_gid_index = 2, .hop_limit = 0});
  EXPECT_EQ(default_hops->hop_limit, 64) << "zero would not leave the host";
}

TEST_F(PortTest, RejectsUnreachableAddresses) {
  ASSERT_TRUE(port.set_gid(0, gid_of(1, false)));
  const AddressVector good{.destination = gid_of(2, false)};
  ASSERT_TRUE(port.flow_to(good));
  AddressVector bad = good;
  bad.port = 2;
  EXPECT_EQ(said(port.flow_to(bad)), "invalid: address: no such port");
  bad = good;
  bad.is_global = false;
  EXPECT_EQ(said(port.flow_to(bad)), "invalid: address: RoCE needs a GRH");
  for (const std::uint8_t index : std::to_array<std::uint8_t>({1, 4, 255})) {
    bad = good;
    bad.source_gid_index = index;
    EXPECT_EQ(said(port.flow_to(bad)), "invalid: address: no GID at this index");
  }
  EXPECT_EQ(said(port.flow_to({})), "invalid: address: no GID given");
  EXPECT_EQ(said(port.flow_to({.destination = gid_of(2, true)})),
            "invalid: address: IPv4 and IPv6 GIDs do not meet");
}

// Local QPN, remote QPN and UDP source port of connections in tests/golden/captures.
TEST(SourcePort, OfAConnectionIsThatOfSoftRoce) {
  struct Captured {
    std::uint32_t local, remote;
    std::uint16_t port;
  };
  constexpr Captured kCaptured[] = {
      {0x7b, 0x7c, 64404},  // rc_pingpong_s64_mtu1024
      {0xa2, 0xa3, 59175},  // write_bw_s256_q2, first QP
      {0xa3, 0xa4, 59501},  // ... and second
      {0x9a, 0x9b, 56639},  // send_lat_s10
      {0x86, 0x87, 50859},  // uc_pingpong_s64
      {0x83, 0x84, 50061},  // rc_pingpong_ipv6_s64
  };
  for (const Captured& c : kCaptured) {
    EXPECT_EQ(source_port(0, Qpn{c.local}, Qpn{c.remote}), c.port);
    EXPECT_EQ(source_port(0, Qpn{c.remote}, Qpn{c.local}), c.port) << "the same both ways";
  }
}

TEST(SourcePort, OfAConnectionWithAFlowLabelIsTheLabelFolded) {
  // 0x12345 = 4 << 14 | 0x2345.
  EXPECT_EQ(source_port(0x12345, Qpn{1}, Qpn{2}), 0xc000 | (0x2345 ^ 4));
  EXPECT_EQ(source_port(0x12345, Qpn{7}, Qpn{8}), 0xc000 | (0x2345 ^ 4));
}

TEST(SourcePort, OfDatagramsIsThatOfSoftRoce) {
  EXPECT_EQ(datagram_source_port(Qpn{1}), 55410);     // every CM exchange
  EXPECT_EQ(datagram_source_port(Qpn{0x89}), 54547);  // ud_pingpong_s64, server
  EXPECT_EQ(datagram_source_port(Qpn{0x8a}), 60806);  // ... and client
}

}  // namespace
}  // namespace nerve::nic
