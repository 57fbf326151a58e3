// Goal: a frame that is not for a QP, or not from its peer, changes nothing but one counter.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "nic/nic.h"
#include "tests/nic/probe.h"

namespace nerve::nic {
namespace {

using test::EndSetup;
using test::Probe;
using wire::Operation;

// The sum of all drop counters.
std::uint64_t drops(const Counters& c) {
  return c.dropped_malformed + c.dropped_no_qp + c.dropped_wrong_transport + c.dropped_bad_state +
         c.dropped_bad_pkey + c.dropped_bad_qkey + c.dropped_wrong_address + c.dropped_no_receive;
}

// The frame is dropped for this reason; nothing else changes.
void expect_dropped(Probe& probe, const wire::Frame& frame, std::uint64_t Counters::*reason) {
  const Counters before = probe.end.nic.counters();
  const std::vector<std::byte> memory = probe.end.memory;
  const QpQuery query = *probe.end.nic.query_qp(probe.end.qp);
  EXPECT_TRUE(probe.hear(frame).empty()) << "an answer to nobody";
  const Counters& after = probe.end.nic.counters();
  EXPECT_EQ(after.*reason, before.*reason + 1);
  EXPECT_EQ(drops(after), drops(before) + 1);
  EXPECT_EQ(after.frames_received, before.frames_received + 1);
  EXPECT_EQ(probe.end.memory, memory);
  EXPECT_EQ(probe.end.state(), query.state);
  EXPECT_EQ(probe.end.nic.query_qp(probe.end.qp)->attributes, query.attributes);
  EXPECT_TRUE(probe.end.completions().empty());
  EXPECT_TRUE(probe.end.events().empty());
}

struct HostileFrames : ::testing::Test {
  Probe probe;
  void SetUp() override {
    probe.end.bring_to(QpState::kRts);
    ASSERT_TRUE(probe.end.post_receive(1, 0, 1024));
  }
  wire::Frame good() { return probe.frame_at(Operation::kWriteOnly, 0, 512, 64, 64); }
};

TEST_F(HostileFrames, TheGoodOneIsTaken) {
  const auto answers = probe.hear(good());
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].operation(), Operation::kAcknowledge);
  EXPECT_EQ(probe.end.bytes(512, 64),
            std::vector(probe.payload.begin(), probe.payload.begin() + 64));
}

TEST_F(HostileFrames, OfAnotherVersion) {
  for (std::uint8_t version = 1; version < 16; ++version) {
    wire::Frame frame = good();
    frame.headers.bth.version = version;
    expect_dropped(probe, frame, &Counters::dropped_malformed);
  }
}

TEST_F(HostileFrames, OfEveryOpcodeThatMeansNothing) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    if (wire::find_opcode(static_cast<std::uint8_t>(opcode)) != nullptr) continue;
    wire::Frame frame = good();
    frame.headers.bth.opcode = static_cast<std::uint8_t>(opcode);
    expect_dropped(probe, frame, &Counters::dropped_malformed);
  }
}

TEST_F(HostileFrames, OfEveryOtherTransport) {
  for (unsigned opcode = 0x20; opcode < 256; ++opcode) {
    const auto* info = wire::find_opcode(static_cast<std::uint8_t>(opcode));
    if (info == nullptr || info->role == wire::Role::kNotification) continue;
    wire::Frame frame = good();
    frame.headers.bth.opcode = static_cast<std::uint8_t>(opcode);
    expect_dropped(probe, frame, &Counters::dropped_wrong_transport);
  }
}

TEST_F(HostileFrames, ToAQpThatIsNot) {
  for (const std::uint32_t qpn : {0U, 0x10U, 0x12U, 0x5000U, 0x11011U, 0xff'fffeU}) {
    wire::Frame frame = good();
    frame.headers.bth.dest_qp = Qpn{qpn};
    expect_dropped(probe, frame, &Counters::dropped_no_qp);
  }
  // The connection manager owns QP1 and accepts only datagrams.
  wire::Frame frame = good();
  frame.headers.bth.dest_qp = Qpn{1};
  expect_dropped(probe, frame, &Counters::dropped_wrong_transport);
}

TEST_F(HostileFrames, FromOrToAnotherAddress) {
  wire::Frame frame = good();
  frame.flow.source = test::gid_of(8, false);
  expect_dropped(probe, frame, &Counters::dropped_wrong_address);
  frame = good();
  frame.flow.destination = test::gid_of(2, false);
  expect_dropped(probe, frame, &Counters::dropped_wrong_address);
  frame.flow.destination = wire::Gid::ipv4(224, 0, 0, 1);
  expect_dropped(probe, frame, &Counters::dropped_wrong_address);
  // Another address of ours does not belong to the QP.
  ASSERT_TRUE(probe.end.nic.set_gid(1, test::gid_of(3, false)));
  ASSERT_EQ(probe.end.events().size(), 1U);
  frame.flow.destination = test::gid_of(3, false);
  expect_dropped(probe, frame, &Counters::dropped_wrong_address);
}

TEST_F(HostileFrames, OfAnotherPartition) {
  for (const std::uint16_t pkey : std::to_array<std::uint16_t>({0x8001, 0x1234, 0x0000, 0x8000})) {
    wire::Frame frame = good();
    frame.headers.bth.pkey = PKey{pkey};
    expect_dropped(probe, frame, &Counters::dropped_bad_pkey);
  }
  wire::Frame limited = good();
  limited.headers.bth.pkey = PKey{0x7fff};
  EXPECT_EQ(probe.hear(limited).size(), 1U) << "a limited member may talk to a full one";
}

TEST_F(HostileFrames, ToALimitedMemberFromAnother) {
  NicConfig config;
  config.pkeys = {0xffff, 0x7001};
  Probe limited{EndSetup{.config = config}};
  limited.end.attributes.pkey_index = 1;
  limited.end.bring_to(QpState::kRts);
  wire::Frame frame = limited.frame_at(Operation::kWriteOnly, 0, 0, 8, 8);
  frame.headers.bth.pkey = PKey{0x7001};
  expect_dropped(limited, frame, &Counters::dropped_bad_pkey);
  frame.headers.bth.pkey = PKey{0xffff};  // in the table, but not that of this QP
  expect_dropped(limited, frame, &Counters::dropped_bad_pkey);
  frame.headers.bth.pkey = PKey{0xf001};
  const auto answers = limited.hear(frame);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].headers.bth.pkey, PKey{0x7001});
}

TEST_F(HostileFrames, InEveryStateThatDoesNotReceive) {
  for (const QpState state : {QpState::kReset, QpState::kInit, QpState::kErr}) {
    probe.end.bring_to(state);
    expect_dropped(probe, good(), &Counters::dropped_bad_state);
  }
  for (const QpState state : {QpState::kRtr, QpState::kRts, QpState::kSqd}) {
    probe.end.bring_to(state);
    EXPECT_EQ(probe.hear(good()).size(), 1U);
    EXPECT_EQ(probe.end.events().size(), state == QpState::kRtr ? 1U : 0U)
        << "in RTR the first frame tells that the connection stands";
  }
}

TEST_F(HostileFrames, WhileThePortIsDown) {
  probe.end.nic.set_port_active(false);
  ASSERT_EQ(probe.end.events().size(), 1U);
  expect_dropped(probe, good(), &Counters::dropped_bad_state);
}

// Nothing was requested, so nothing can be answered.
TEST_F(HostileFrames, AnswersToNothing) {
  const Counters before = probe.end.nic.counters();
  for (const Operation operation : {Operation::kAcknowledge, Operation::kReadResponseOnly,
                                    Operation::kReadResponseFirst, Operation::kReadResponseMiddle,
                                    Operation::kReadResponseLast, Operation::kAtomicAcknowledge}) {
    for (const std::uint32_t psn : {0U, 1U, 0x7f'ffffU, 0x80'0000U, 0xff'ffffU}) {
      for (unsigned syndrome = 0; syndrome < 128; ++syndrome) {
        wire::Frame frame = probe.frame(operation, psn);
        frame.headers.aeth.syndrome = static_cast<std::uint8_t>(syndrome);
        EXPECT_TRUE(probe.hear(frame).empty());
      }
    }
  }
  EXPECT_EQ(probe.end.state(), QpState::kRts);
  EXPECT_TRUE(probe.end.completions().empty());
  EXPECT_EQ(probe.end.nic.counters().error_naks_received, before.error_naks_received);
}

}  // namespace
}  // namespace nerve::nic
