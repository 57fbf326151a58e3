// Goal: the opcode table is complete and correct. Method: properties over all 256 bytes, each
// derived from the standard's rules for a family and not from the rows themselves.
#include "wire/opcode.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "wire/headers.h"

namespace nerve::wire {
namespace {

template <class Property>
void for_each_opcode(Property property) {
  for (unsigned code = 0; code < 256; ++code) {
    if (const OpcodeInfo* info = find_opcode(static_cast<Opcode>(code))) {
      SCOPED_TRACE(info->name);
      property(static_cast<Opcode>(code), *info);
    }
  }
}

bool named(const OpcodeInfo& info, std::string_view part) {
  return std::string_view{info.name}.find(part) != std::string_view::npos;
}

bool has(const OpcodeInfo& info, HeaderSet header) { return contains(info.headers, header); }

}  // namespace

TEST(OpcodeTable, SitsWhereItsBitsSay) {
  std::set<std::string> names;
  for_each_opcode([&](Opcode code, const OpcodeInfo& info) {
    EXPECT_EQ(opcode(info.transport, info.operation), code);
    EXPECT_EQ(info.extended_bytes, size_of(info.headers));
    EXPECT_LE(Bth::kSize + info.extended_bytes, kMaxHeadersSize);
    EXPECT_TRUE(names.insert(info.name).second) << "two opcodes of one name";
  });
  EXPECT_EQ(names.size(), 25U + 12U + 2U + 25U + 1U);
}

TEST(OpcodeTable, GivesNoMeaningToTheRest) {
  for (unsigned code = 0; code < 256; ++code) {
    const unsigned transport = code >> 5U;
    const unsigned operation = code & 0x1fU;
    bool known = false;
    if (transport == 0 || transport == 5) {  // RC, XRC
      known = operation <= 0x14 || operation == 0x16 || operation == 0x17 || operation == 0x1c ||
              operation == 0x1d;
    } else if (transport == 1) {  // UC
      known = operation <= 0x0b;
    } else if (transport == 3) {  // UD
      known = operation == 0x04 || operation == 0x05;
    } else if (code == kCnpOpcode) {
      known = true;
    }
    EXPECT_EQ(find_opcode(static_cast<Opcode>(code)) != nullptr, known) << "opcode " << code;
  }
}

TEST(OpcodeTable, HeadersFollowTheTransport) {
  for_each_opcode([](Opcode, const OpcodeInfo& info) {
    EXPECT_EQ(has(info, HeaderSet::kDeth), info.transport == Transport::kUd);
    EXPECT_EQ(has(info, HeaderSet::kXrcEth),
              info.transport == Transport::kXrc && info.role == Role::kRequest);
    EXPECT_EQ(has(info, HeaderSet::kCnpPad), info.transport == Transport::kCnp);
    EXPECT_EQ(info.role == Role::kNotification, info.transport == Transport::kCnp);
  });
}

TEST(OpcodeTable, XrcIsRcWithXrcEth) {
  for_each_opcode([](Opcode, const OpcodeInfo& info) {
    if (info.transport != Transport::kXrc) return;
    const OpcodeInfo* rc = find_opcode(opcode(Transport::kRc, info.operation));
    ASSERT_NE(rc, nullptr);
    EXPECT_EQ(std::string{"X"} + rc->name, info.name);
    EXPECT_EQ(rc->headers, without(info.headers, HeaderSet::kXrcEth));
    EXPECT_EQ(rc->position, info.position);
    EXPECT_EQ(rc->length, info.length);
    EXPECT_EQ(rc->role, info.role);
  });
}

TEST(OpcodeTable, HeadersFollowTheName) {
  for_each_opcode([](Opcode, const OpcodeInfo& info) {
    if (info.transport == Transport::kCnp) return;
    const bool starts = info.position == Position::kFirst || info.position == Position::kOnly;
    const bool write = named(info, "_WRITE_") && !named(info, "ATOMIC");
    EXPECT_EQ(has(info, HeaderSet::kReth), (write && starts) || named(info, "READ_REQUEST") ||
                                               named(info, "FLUSH") || named(info, "ATOMIC_WRITE"));
    EXPECT_EQ(has(info, HeaderSet::kImmDt), named(info, "_IMM"));
    EXPECT_EQ(has(info, HeaderSet::kIeth), named(info, "_INVALIDATE"));
    EXPECT_EQ(has(info, HeaderSet::kFeth), named(info, "FLUSH"));
    EXPECT_EQ(has(info, HeaderSet::kAtomicEth),
              named(info, "COMPARE_SWAP") || named(info, "FETCH_ADD"));
    EXPECT_EQ(has(info, HeaderSet::kAtomicAckEth), named(info, "ATOMIC_ACKNOWLEDGE"));
    EXPECT_EQ(has(info, HeaderSet::kAeth),
              info.role == Role::kResponse && info.position != Position::kMiddle);
    EXPECT_EQ(info.role == Role::kResponse, named(info, "RESPONSE") || named(info, "ACKNOWLEDGE"));
  });
}

TEST(OpcodeTable, LengthFollowsThePosition) {
  for_each_opcode([](Opcode, const OpcodeInfo& info) {
    EXPECT_EQ(info.position == Position::kFirst, named(info, "_FIRST"));
    EXPECT_EQ(info.position == Position::kMiddle, named(info, "_MIDDLE"));
    EXPECT_EQ(info.position == Position::kLast, named(info, "_LAST"));
    switch (info.position) {
      case Position::kFirst:
      case Position::kMiddle:
        EXPECT_EQ(info.length, LengthRule::kExactlyMtu);
        break;
      case Position::kLast:
        EXPECT_EQ(info.length, LengthRule::kOneToMtu);
        break;
      case Position::kOnly:
        if (named(info, "_ONLY")) {
          EXPECT_EQ(info.length, LengthRule::kUpToMtu);
        } else if (named(info, "ATOMIC_WRITE")) {
          EXPECT_EQ(info.length, LengthRule::kEightBytes);
        } else {
          EXPECT_EQ(info.length, LengthRule::kNoPayload);
        }
        break;
    }
  });
}

}  // namespace nerve::wire
