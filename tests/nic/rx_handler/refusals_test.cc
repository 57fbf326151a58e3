// Goal: a reliable responder answers each kind of invalid request with the right NAK, event and
// completion, enters the error state, and has not modified memory.
#include <gtest/gtest.h>

#include <optional>

#include "nic/nic.h"
#include "tests/nic/dma_engine/ports.h"
#include "tests/nic/probe.h"

namespace nerve::nic {
namespace {

using test::Probe;
using test::Seen;
using wire::Operation;
using enum wire::Operation;

struct Refusal {
  std::uint8_t syndrome{};
  EventKind event{};
  std::optional<WcStatus> receive{};  // status of the receive in use, or of the first one posted
};

constexpr Refusal kInvalid{test::kNakInvalid, EventKind::kQpRequestError, WcStatus::kFlushed};
constexpr Refusal kAccess{test::kNakAccess, EventKind::kQpAccessError, WcStatus::kFlushed};

struct Refusals : ::testing::Test {
  Probe probe;
  std::uint32_t psn{0x77};  // of the next request

  void start() {
    probe.end.attributes.rq_psn = Psn{psn};
    probe.end.bring_to(QpState::kRts);
    ASSERT_TRUE(probe.end.post_receive(1, 0, 1500));
  }
  void accepted(const wire::Frame& frame) {
    probe.hear(frame);
    ASSERT_EQ(probe.end.state(), QpState::kRts);
    ++psn;
  }
  void refused(const wire::Frame& frame, const Refusal& how) {
    const std::vector<std::byte> memory = probe.end.memory;
    const std::uint32_t offending = frame.headers.bth.psn.value();
    const auto naks = probe.end.nic.counters().error_naks_sent;
    const auto answers = probe.hear(frame);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].operation(), kAcknowledge);
    EXPECT_EQ(answers[0].headers.aeth.syndrome, how.syndrome);
    EXPECT_EQ(answers[0].headers.bth.psn, Psn{offending});
    EXPECT_EQ(answers[0].headers.bth.dest_qp, Probe::kPeerQpn);
    EXPECT_EQ(probe.end.nic.counters().error_naks_sent, naks + 1);
    EXPECT_EQ(probe.end.events(), std::vector{how.event});
    EXPECT_EQ(probe.end.state(), QpState::kErr);
    EXPECT_EQ(probe.end.memory, memory);
    const auto got = probe.end.completions();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].status, *how.receive);
    EXPECT_TRUE(probe.hear(probe.frame(kSendOnly, offending)).empty()) << "mute from now on";
  }
};

TEST_F(Refusals, BadOrderOfOpcodes) {
  for (const Operation op : {kSendMiddle, kSendLast, kSendLastImm, kSendLastInvalidate,
                             kWriteMiddle, kWriteLast, kWriteLastImm}) {
    start();
    const bool middle = op == kSendMiddle || op == kWriteMiddle;
    refused(probe.frame(op, psn, middle ? 1024 : 8), kInvalid);
  }
  for (const Operation op : {kSendFirst, kSendOnly, kSendOnlyImm, kWriteFirst, kWriteOnly,
                             kWriteMiddle, kWriteLast, kReadRequest}) {
    start();
    accepted(probe.frame(kSendFirst, psn, 1024));
    const bool full = op == kSendFirst || op == kWriteFirst || op == kWriteMiddle;
    const std::uint32_t length = op == kReadRequest ? 0 : full ? 1024 : 8;
    refused(probe.frame_at(op, psn, 4096, 8, length), kInvalid);
  }
  start();
  accepted(probe.frame(kSendFirst, psn, 1024));
  refused(probe.fetch_add(psn, 4096, 1), kInvalid);
}

TEST_F(Refusals, PayloadThatDoesNotFitTheMtu) {
  for (const std::uint32_t length : {0U, 1U, 1023U, 1025U, 2048U}) {
    start();
    refused(probe.frame(kSendFirst, psn, length), kInvalid);
    start();
    refused(probe.frame_at(kWriteFirst, psn, 4096, 8192, length), kInvalid);
  }
  start();
  refused(probe.frame(kSendOnly, psn, 1025), kInvalid);
  start();
  accepted(probe.frame(kSendFirst, psn, 1024));
  refused(probe.frame(kSendLast, psn, 0), kInvalid);
  start();
  refused(probe.frame_at(kReadRequest, psn, 4096, 8, 4), kInvalid);
}

TEST_F(Refusals, EventNamesThePayloadAndTheMtu) {
  const auto mismatch = [&](const wire::Frame& frame) {
    start();
    probe.hear(frame);
    const auto event = probe.end.nic.next_event();
    EXPECT_TRUE(event);
    return event ? event->mismatch : std::nullopt;
  };
  const Qpn qpn = probe.end.qpn();
  EXPECT_EQ(mismatch(probe.frame(kSendFirst, psn, 256)),
            (MtuMismatch{.qpn = qpn, .payload = 256, .mtu = 1024}));
  EXPECT_EQ(mismatch(probe.frame(kSendOnly, psn, 2048)),
            (MtuMismatch{.qpn = qpn, .payload = 2048, .mtu = 1024}));
  EXPECT_EQ(mismatch(probe.frame(kSendMiddle, psn, 1024)), std::nullopt) << "the order is wrong";
  EXPECT_EQ(mismatch(probe.frame(kSendFirst, psn, 0)), std::nullopt);
  wire::Frame padded = probe.frame(kSendOnly, psn, 8);
  padded.headers.bth.pad = 1;
  EXPECT_EQ(mismatch(padded), std::nullopt) << "the padding is wrong";
}

TEST_F(Refusals, WriteThatIsNotAsLongAsItSaid) {
  start();
  refused(probe.frame_at(kWriteOnly, psn, 4096, 65, 64), kInvalid);
  start();
  refused(probe.frame_at(kWriteOnly, psn, 4096, 63, 64), kInvalid);
  start();
  refused(probe.frame_at(kWriteFirst, psn, 4096, 1024, 1024),
          kInvalid);  // should have been an ONLY
  start();
  accepted(probe.frame_at(kWriteFirst, psn, 4096, 1030, 1024));
  refused(probe.frame(kWriteLast, psn, 7), kInvalid);
  start();
  accepted(probe.frame_at(kWriteFirst, psn, 4096, 1030, 1024));
  refused(probe.frame(kWriteMiddle, psn, 1024), kInvalid);
}

TEST_F(Refusals, MisalignedAtomic) {
  for (const std::size_t offset : {1U, 4U, 7U}) {
    start();
    refused(probe.fetch_add(psn, 4096 + offset, 1), kInvalid);
    start();
    refused(probe.frame_at(kAtomicWrite, psn, 4096 + offset, 8, 8), kInvalid);
  }
  start();
  refused(probe.frame_at(kAtomicWrite, psn, 4096, 16, 8), kInvalid);
}

// The address that a peer uses and the memory behind it may be aligned differently; both must be
// aligned.
TEST_F(Refusals, AtomicMisalignedOnOneSideOfTheTranslation) {
  const MrHandle mr = *probe.end.nic.register_mr(
      {.pd = probe.end.pd,
       .address = probe.end.at(0),
       .length = 8192,
       .iova = 0x10004,
       .access = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteAtomic});
  const RKey rkey = probe.end.nic.keys_of(mr)->rkey;
  for (const std::uint64_t address : {0x10004U, 0x10008U}) {
    start();
    wire::Frame add = probe.fetch_add(psn, 0, 1);
    add.headers.atomic.address = address;
    add.headers.atomic.rkey = rkey;
    // Where an aligned address means an unaligned word, atomics are not granted at all.
    refused(add, address % 8 == 0 ? kAccess : kInvalid);
    start();
    wire::Frame write = probe.frame(kAtomicWrite, psn, 8);
    write.headers.reth = {.address = address, .rkey = rkey, .length = 8};
    refused(write, kInvalid);
  }
}

TEST_F(Refusals, AccessThatTheQpDoesNotGive) {
  probe.end.attributes.access = Access::kNone;
  start();
  refused(probe.frame_at(kWriteOnly, psn, 4096, 8, 8), kInvalid);
  start();
  refused(probe.frame_at(kReadRequest, psn, 4096, 8), kInvalid);
  start();
  refused(probe.fetch_add(psn, 4096, 1), kInvalid);
  start();
  refused(probe.frame_at(kAtomicWrite, psn, 4096, 8, 8), kInvalid);
}

TEST_F(Refusals, KeyThatGivesNothing) {
  const auto with_key = [&](wire::Frame frame, RKey key) {
    start();
    frame.headers.reth.rkey = key;
    frame.headers.atomic.rkey = key;
    refused(frame, kAccess);
  };
  for (const std::uint32_t flip : {1U, 0x100U, 0x8000'0000U}) {
    const RKey wrong{probe.end.keys.rkey.value() ^ flip};
    with_key(probe.frame_at(kWriteOnly, psn, 4096, 8, 8), wrong);
    with_key(probe.frame_at(kWriteFirst, psn, 4096, 8000, 1024), wrong);
    with_key(probe.frame_at(kReadRequest, psn, 4096, 8), wrong);
    with_key(probe.fetch_add(psn, 4096, 1), wrong);
    with_key(probe.frame_at(kAtomicWrite, psn, 4096, 8, 8), wrong);
  }
  // A read-only region.
  const MrHandle mr = *probe.end.nic.register_mr({.pd = probe.end.pd,
                                                  .address = probe.end.at(0),
                                                  .length = probe.end.memory.size(),
                                                  .iova = probe.end.at(0),
                                                  .access = Access::kRemoteRead});
  const RKey read_only = probe.end.nic.keys_of(mr)->rkey;
  with_key(probe.frame_at(kWriteOnly, psn, 4096, 8, 8), read_only);
  with_key(probe.fetch_add(psn, 4096, 1), read_only);
  // A region of another protection domain.
  const PdHandle other = *probe.end.nic.alloc_pd();
  const MrHandle foreign = *probe.end.nic.register_mr({.pd = other,
                                                       .address = probe.end.at(0),
                                                       .length = probe.end.memory.size(),
                                                       .iova = probe.end.at(0),
                                                       .access = Access::kRemoteRead});
  with_key(probe.frame_at(kReadRequest, psn, 4096, 8), probe.end.nic.keys_of(foreign)->rkey);
}

// The receive of a WRITE with immediate completes with a local access error (IBTA 11.6.2). If the
// first of several packets has a bad key, no receive was taken yet.
TEST_F(Refusals, WriteWithImmediateToAKeyThatGivesNothing) {
  constexpr Refusal kReceiveFails{test::kNakAccess, EventKind::kQpAccessError,
                                  WcStatus::kLocalAccess};
  const RKey wrong{probe.end.keys.rkey.value() ^ 1U};
  start();
  wire::Frame only = probe.frame_at(kWriteOnlyImm, psn, 4096, 8, 8);
  only.headers.reth.rkey = wrong;
  refused(only, kReceiveFails);
  start();
  wire::Frame first = probe.frame_at(kWriteFirst, psn, 4096, 1032, 1024);
  first.headers.reth.rkey = wrong;
  refused(first, kAccess);
  // The region is deregistered between the first packet and the last.
  start();
  accepted(probe.frame_at(kWriteFirst, psn, 4096, 1032, 1024));
  ASSERT_TRUE(probe.end.nic.deregister_mr(probe.end.mr));
  refused(probe.frame(kWriteLastImm, psn, 8), kReceiveFails);
}

TEST_F(Refusals, WriteWithImmediateToAKeyThatGivesNothingNeedsNoReceive) {
  probe.end.attributes.rq_psn = Psn{psn};
  probe.end.bring_to(QpState::kRts);
  wire::Frame only = probe.frame_at(kWriteOnlyImm, psn, 4096, 8, 8);
  only.headers.reth.rkey = RKey{probe.end.keys.rkey.value() ^ 1U};
  const auto answers = probe.hear(only);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].headers.aeth.syndrome, test::kNakAccess);
  EXPECT_TRUE(probe.end.completions().empty());
}

// The first packet checks the whole range.
TEST_F(Refusals, RangeOutOfBounds) {
  const std::size_t size = probe.end.memory.size();
  const auto moved = [&](Operation op, std::uint64_t address, std::uint32_t length,
                         std::uint32_t payload) {
    start();
    wire::Frame frame = probe.frame_at(op, psn, 0, length, payload);
    frame.headers.reth.address = address;
    refused(frame, kAccess);
  };
  const std::uint64_t begin = probe.end.at(0);
  const std::uint64_t end = begin + size;
  moved(kWriteOnly, end - 7, 8, 8);
  moved(kWriteOnly, begin - 1, 8, 8);
  moved(kWriteOnly, ~std::uint64_t{0} - 3, 8, 8);
  moved(kWriteFirst, begin, static_cast<std::uint32_t>(size + 1), 1024);
  moved(kWriteFirst, end - 1024, 1025, 1024);
  moved(kReadRequest, end - 7, 8, 0);
  moved(kReadRequest, begin, static_cast<std::uint32_t>(size + 1), 0);
  moved(kReadRequest, 0, 1U << 31, 0);
}

TEST_F(Refusals, SendTooLongForItsReceive) {
  constexpr Refusal kTooLong{test::kNakInvalid, EventKind::kQpRequestError, WcStatus::kLocalLength};
  start();
  accepted(probe.frame(kSendFirst, psn, 1024));
  refused(probe.frame(kSendLast, psn, 477), kTooLong);
  probe.end.bring_to(QpState::kRts);
}

TEST_F(Refusals, SendIntoAReceiveThatMayNotBeWritten) {
  constexpr Refusal kOperation{test::kNakOperation, EventKind::kQpRequestError,
                               WcStatus::kLocalProtection};
  probe.end.attributes.rq_psn = Psn{psn};
  probe.end.bring_to(QpState::kRts);
  const Sge wrong{probe.end.at(0), 100, LKey{0xdead}};
  ASSERT_TRUE(probe.end.nic.post_recv(probe.end.qp, {.wr_id = 1, .sges = {&wrong, 1}}));
  refused(probe.frame(kSendOnly, psn, 8), kOperation);
}

TEST_F(Refusals, InvalidationOfAPlainRegion) {
  start();
  wire::Frame frame = probe.frame(kSendOnlyInvalidate, psn, 8);
  frame.headers.invalidate = probe.end.keys.rkey;
  refused(frame, kAccess);
  EXPECT_EQ(probe.end.nic.keys_of(probe.end.mr)->rkey, probe.end.keys.rkey);
}

TEST_F(Refusals, ReadsBeyondTheAgreedDepth) {
  probe.end.attributes.max_dest_read = 2;
  start();
  std::vector<wire::Frame> burst;
  for (std::uint32_t i = 0; i < 3; ++i) {
    burst.push_back(probe.frame_at(kReadRequest, psn + i, 4096, 8));
  }
  const auto answers = probe.hear(burst);
  ASSERT_EQ(answers.size(), 3U) << "what came before is still answered";
  EXPECT_EQ(answers[0].operation(), kReadResponseOnly);
  EXPECT_EQ(answers[1].operation(), kReadResponseOnly);
  EXPECT_EQ(answers[2].headers.aeth.syndrome, test::kNakInvalid);
  EXPECT_EQ(answers[2].headers.bth.psn, Psn{psn + 2});
  EXPECT_EQ(probe.end.state(), QpState::kErr);
  probe.end.attributes.max_dest_read = 0;
  EXPECT_EQ(probe.end.events().size(), 1U);
  EXPECT_EQ(probe.end.completions().size(), 1U);
  start();
  refused(probe.frame_at(kReadRequest, psn, 4096, 8), kInvalid);
}

// A message has at most 2^31 bytes, whatever the size of the region.
TEST_F(Refusals, LengthBeyondTheLongestMessage) {
  test::VoidPort port;
  const MrHandle mr = *probe.end.nic.register_mr(
      {.pd = probe.end.pd,
       .address = 0,
       .length = std::uint64_t{1} << 33,
       .iova = 0,
       .access = Access::kRemoteRead | Access::kRemoteWrite | Access::kLocalWrite,
       .port = &port});
  const RKey rkey = probe.end.nic.keys_of(mr)->rkey;
  for (const Operation op : {kReadRequest, kWriteFirst}) {
    start();
    wire::Frame frame = probe.frame(op, psn, op == kWriteFirst ? 1024 : 0);
    frame.headers.reth = {.address = 0, .rkey = rkey, .length = (1U << 31) + 1};
    refused(frame, kInvalid);
  }
}

// An access of zero bytes needs no key.
TEST_F(Refusals, NoneForNoBytes) {
  start();
  wire::Frame write = probe.frame(kWriteOnly, psn);
  write.headers.reth = {.address = 3, .rkey = RKey{5}, .length = 0};
  EXPECT_EQ(probe.hear(write).at(0).headers.aeth.syndrome >> 5U, 0);
  wire::Frame read = probe.frame(kReadRequest, psn + 1);
  read.headers.reth = write.headers.reth;
  EXPECT_EQ(probe.hear(read).at(0).operation(), kReadResponseOnly);
  EXPECT_EQ(probe.end.state(), QpState::kRts);
}

}  // namespace
}  // namespace nerve::nic
