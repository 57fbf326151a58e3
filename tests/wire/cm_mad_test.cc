// Properties of the CM codec: no field of the standard is lost, and no reserved bit is kept.
#include "wire/cm_mad.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/prng.h"
#include "tests/seeds.h"

namespace nerve::wire {
namespace {

using MadBytes = std::array<std::byte, CmMad::kSize>;

// Bytes [from, to] of the CM data, and their reserved bits.
struct Reserved {
  CmAttribute attribute;
  std::size_t from, to;
  std::uint8_t bits;
};

// IBTA vol. 1, 12.6: the reserved bits of each message, written down independently of the layout.
constexpr auto kReserved = [] {
  using enum CmAttribute;
  return std::array{
      Reserved{kReq, 4, 7, 0xff},       Reserved{kReq, 24, 27, 0xff},
      Reserved{kReq, 90, 90, 0x0f},     Reserved{kReq, 91, 91, 0xc0},
      Reserved{kReq, 94, 94, 0x07},     Reserved{kReq, 95, 95, 0x07},
      Reserved{kReq, 134, 134, 0x0f},   Reserved{kReq, 135, 135, 0xc0},
      Reserved{kReq, 138, 139, 0x07},   Reserved{kMra, 8, 8, 0x3f},
      Reserved{kMra, 9, 9, 0x07},       Reserved{kRej, 8, 8, 0x3f},
      Reserved{kRej, 9, 9, 0x01},       Reserved{kRep, 15, 15, 0xff},
      Reserved{kRep, 19, 19, 0xff},     Reserved{kRep, 23, 23, 0xff},
      Reserved{kRep, 27, 27, 0x0f},     Reserved{kDreq, 11, 11, 0xff},
      Reserved{kSidrReq, 6, 7, 0xff},   Reserved{kSidrRep, 6, 7, 0xff},
      Reserved{kSidrRep, 11, 11, 0xff},
  };
}();

constexpr std::array kAttributes{CmAttribute::kReq,  CmAttribute::kMra,     CmAttribute::kRej,
                                 CmAttribute::kRep,  CmAttribute::kRtu,     CmAttribute::kDreq,
                                 CmAttribute::kDrep, CmAttribute::kSidrReq, CmAttribute::kSidrRep};

void write_header(MadBytes& mad, CmAttribute attribute, std::uint64_t transaction) {
  const MadHeader header{.management_class = kCmClass,
                         .class_version = kCmClassVersion,
                         .method = kCmMethodSend,
                         .transaction_id = transaction,
                         .attribute_id = static_cast<std::uint16_t>(attribute)};
  header.encode(std::span{mad}.first<MadHeader::kSize>());
}

void clear_reserved(MadBytes& mad, CmAttribute attribute) {
  for (const Reserved& row : kReserved) {
    if (row.attribute != attribute) continue;
    for (std::size_t at = row.from; at <= row.to; ++at) {
      mad[MadHeader::kSize + at] &= ~std::byte{row.bits};
    }
  }
}

// Every byte pattern is a message: each bit belongs to a field or is reserved. So all values are
// reached, and encode after decode is the identity except for the reserved bits.
TEST(CmMad, KeepsEveryFieldAndNoReservedBit) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    Prng prng{seed};
    for (const CmAttribute attribute : kAttributes) {
      MadBytes sent;
      for (std::byte& byte : sent) byte = static_cast<std::byte>(prng.next());
      write_header(sent, attribute, prng.next());

      const auto mad = CmMad::decode(sent);
      ASSERT_TRUE(mad) << to_string(attribute);
      ASSERT_EQ(attribute_of(mad->message), attribute);
      MadBytes again;
      again.fill(std::byte{0xee});
      mad->encode(again);
      clear_reserved(sent, attribute);
      ASSERT_EQ(again, sent) << to_string(attribute);
      ASSERT_EQ(*CmMad::decode(again), *mad);
    }
  });
}

// Each bit alone: overlapping fields would both change, and a missing one would not.
TEST(CmMad, MapsEveryBitToOneField) {
  for (const CmAttribute attribute : kAttributes) {
    for (std::size_t bit = 0; bit < (CmMad::kSize - MadHeader::kSize) * 8; ++bit) {
      MadBytes bytes{};
      write_header(bytes, attribute, 0);
      bytes[MadHeader::kSize + bit / 8] = static_cast<std::byte>(0x80U >> bit % 8);
      MadBytes cleared = bytes;
      clear_reserved(cleared, attribute);
      const auto mad = CmMad::decode(bytes);
      ASSERT_TRUE(mad);
      MadBytes again{};
      mad->encode(again);
      ASSERT_EQ(again, cleared) << to_string(attribute) << " bit " << bit;
    }
  }
}

template <class Message>
MadBytes encoded(const Message& message) {
  MadBytes bytes{};
  CmMad{.message = message}.encode(bytes);
  return bytes;
}

// Fields that no capture sets, each with a distinct value, at the byte given by the standard's
// table.
TEST(CmMad, PutsEachFieldWhereTheStandardSays) {
  const auto at = [](const MadBytes& mad, std::size_t byte) {
    return std::to_integer<unsigned>(mad[MadHeader::kSize + byte]);
  };
  EXPECT_EQ(at(encoded(CmReq{.local_qkey = 0x42}), 31), 0x42U);
  EXPECT_EQ(at(encoded(CmReq{.responder_resources = 0x42}), 35), 0x42U);
  EXPECT_EQ(at(encoded(CmReq{.local_eecn = 0x42}), 38), 0x42U);
  EXPECT_EQ(at(encoded(CmReq{.initiator_depth = 0x42}), 39), 0x42U);
  EXPECT_EQ(at(encoded(CmReq{.remote_eecn = 0x42}), 42), 0x42U);
  EXPECT_EQ(at(encoded(CmReq{.remote_cm_response_timeout = 0x11}), 43), 0x88U);
  EXPECT_EQ(at(encoded(CmReq{.transport = CmTransport::kExtended}), 43), 0x06U);
  EXPECT_EQ(at(encoded(CmReq{.end_to_end_flow_control = true}), 43), 0x01U);
  EXPECT_EQ(at(encoded(CmReq{.rdc_exists = true}), 50), 0x08U);
  EXPECT_EQ(at(encoded(CmReq{.srq = true}), 51), 0x08U);
  EXPECT_EQ(at(encoded(CmReq{.extended_transport = CmExtendedTransport::kXrc}), 51), 0x01U);
  EXPECT_EQ(at(encoded(CmReq{.primary = {.packet_rate = 0x21}}), 91), 0x21U);
  EXPECT_EQ(at(encoded(CmReq{.primary = {.traffic_class = 0x42}}), 92), 0x42U);
  EXPECT_EQ(at(encoded(CmReq{.primary = {.service_level = 9}}), 94), 0x90U);
  EXPECT_EQ(at(encoded(CmReq{.primary = {.subnet_local = true}}), 94), 0x08U);
  EXPECT_EQ(at(encoded(CmReq{.alternate = {.local_lid = 0x42}}), 97), 0x42U);
  EXPECT_EQ(at(encoded(CmReq{.alternate = {.remote_lid = 0x42}}), 99), 0x42U);
  EXPECT_EQ(at(encoded(CmReq{.alternate = {.local_ack_timeout = 0x11}}), 139), 0x88U);
  EXPECT_EQ(at(encoded(CmMra{.subject = CmSubject::kOther}), 8), 0x80U);
  EXPECT_EQ(at(encoded(CmMra{.service_timeout = 0x11}), 9), 0x88U);
  EXPECT_EQ(at(encoded(CmRej{.subject = CmSubject::kRep}), 8), 0x40U);
  EXPECT_EQ(at(encoded(CmRej{.info_length = 0x21}), 9), 0x42U);
  EXPECT_EQ(at(encoded(CmRep{.local_qkey = 0x42}), 11), 0x42U);
  EXPECT_EQ(at(encoded(CmRep{.local_eecn = 0x42}), 18), 0x42U);
  EXPECT_EQ(at(encoded(CmRep{.responder_resources = 0x42}), 24), 0x42U);
  EXPECT_EQ(at(encoded(CmRep{.initiator_depth = 0x42}), 25), 0x42U);
  EXPECT_EQ(at(encoded(CmRep{.failover = CmFailover::kRejected}), 26), 0x04U);
  EXPECT_EQ(at(encoded(CmRep{.end_to_end_flow_control = true}), 26), 0x01U);
  EXPECT_EQ(at(encoded(CmRep{.srq = true}), 27), 0x10U);
  EXPECT_EQ(at(encoded(CmSidrReq{.request_id = CommId{0x42}}), 3), 0x42U);
  EXPECT_EQ(at(encoded(CmSidrReq{.pkey = PKey{0x42}}), 5), 0x42U);
  EXPECT_EQ(at(encoded(CmSidrReq{.service_id = ServiceId{0x42}}), 15), 0x42U);
  EXPECT_EQ(at(encoded(CmSidrRep{.status = SidrStatus::kNoQp}), 4), 0x03U);
  EXPECT_EQ(at(encoded(CmSidrRep{.info_length = 0x42}), 5), 0x42U);
  EXPECT_EQ(at(encoded(CmSidrRep{.qpn = Qpn{0x42}}), 10), 0x42U);
  EXPECT_EQ(at(encoded(CmSidrRep{.service_id = ServiceId{0x42}}), 19), 0x42U);
  EXPECT_EQ(at(encoded(CmSidrRep{.qkey = 0x42}), 23), 0x42U);
}

TEST(CmMad, RefusesEveryTruncation) {
  MadBytes bytes{};
  write_header(bytes, CmAttribute::kRtu, 1);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(CmMad::decode(Bytes{bytes}.first(n)).error(), WireError::kTruncated) << n;
  }
}

TEST(CmMad, RejectsOtherMads) {
  for (const auto& [at, value] : {std::pair{0, 2}, {1, 3}, {2, 1}, {3, 1}, {3, 0x83}}) {
    MadBytes bytes{};
    write_header(bytes, CmAttribute::kReq, 1);
    bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_EQ(CmMad::decode(bytes).error(), WireError::kBadField) << at;
  }
}

TEST(CmMad, ReportsAlternatePathsAsUnsupported) {
  for (const int attribute : {0x01, 0x0f, 0x19, 0x1a, 0x1b, 0x1010}) {
    MadBytes bytes{};
    write_header(bytes, static_cast<CmAttribute>(attribute), 1);
    EXPECT_EQ(CmMad::decode(bytes).error(), WireError::kUnsupported) << attribute;
  }
}

TEST(CmMad, NeverReadsPastTheRejectInformation) {
  CmRej rej{.info_length = 127};
  EXPECT_EQ(rej.info().size(), 72U);
  rej.info_length = 16;
  EXPECT_EQ(rej.info().size(), 16U);
  EXPECT_EQ((CmSidrRep{.info_length = 255}.info().size()), 72U);
}

TEST(MadHeader, RoundTripsAndRefusesTruncation) {
  test::for_each_seed(200, [](std::uint64_t seed) {
    Prng prng{seed};
    const MadHeader sent{.base_version = static_cast<std::uint8_t>(prng.next()),
                         .management_class = static_cast<std::uint8_t>(prng.next()),
                         .class_version = static_cast<std::uint8_t>(prng.next()),
                         .response = prng.chance(500),
                         .method = static_cast<std::uint8_t>(prng.next() % 128),
                         .status = static_cast<std::uint16_t>(prng.next()),
                         .class_specific = static_cast<std::uint16_t>(prng.next()),
                         .transaction_id = prng.next(),
                         .attribute_id = static_cast<std::uint16_t>(prng.next()),
                         .attribute_modifier = static_cast<std::uint32_t>(prng.next())};
    std::array<std::byte, MadHeader::kSize> bytes{};
    sent.encode(bytes);
    EXPECT_EQ(*MadHeader::decode(bytes), sent);
    const std::size_t cut = prng.below(MadHeader::kSize);
    EXPECT_EQ(MadHeader::decode(Bytes{bytes}.first(cut)).error(), WireError::kTruncated);
  });
}

}  // namespace
}  // namespace nerve::wire
