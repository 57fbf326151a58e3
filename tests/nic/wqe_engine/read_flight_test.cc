// Goal: a peer that answers READs slowly, and some of them not at all, is asked again with
// restraint: not for everything at once, and not while it is still busy with earlier requests
// (found with Soft-RoCE in a slow guest that lost packets).
#include <gtest/gtest.h>

#include <chrono>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic::read_flight_test {
namespace {

using test::Pair;
using test::Seen;
using enum wire::Operation;

constexpr std::uint32_t kReads = 10;
constexpr std::uint32_t kPacketsEach = 5;
constexpr Duration kTimeout{std::chrono::microseconds{4'195}};  // 4.096 us * 2^10, rounded up

struct ReadFlight : ::testing::Test {
  ReadFlight() {
    pair.a.attributes.max_read = kReads;
    pair.b.attributes.max_dest_read = kReads;
    pair.connect();
    for (std::uint32_t i = 0; i < kReads; ++i) {
      EXPECT_TRUE(pair.a.post({.wr_id = i,
                               .op = SendOp::kRead,
                               .flags = SendFlags::kSignaled,
                               .remote_address = pair.b.at(0),
                               .rkey = pair.b.keys.rkey},
                              0, kPacketsEach * 1024));
    }
    pair.lose = [](const Seen&) { return true; };
    pair.exchange();
    EXPECT_EQ(pair.seen.size(), kReads);
    first = pair.seen.front().headers.bth.psn;
  }

  // A response packet of `b` from the middle of the READ with this PSN.
  void answer(std::uint32_t psn) {
    wire::Frame frame;
    frame.flow = {.source = pair.b.gid, .destination = pair.a.gid};
    frame.headers.bth.opcode = wire::opcode(wire::Transport::kRc, kReadResponseMiddle);
    frame.headers.bth.dest_qp = pair.a.qpn();
    frame.headers.bth.psn = first + psn;
    const wire::Piece piece{.address = pair.b.at(0), .length = 1024};
    frame.payload = {&piece, 1};
    frame.payload_length = 1024;
    pair.a.nic.receive({&frame, 1}, pair.now);
    pair.exchange();
  }

  std::uint64_t timeouts() { return pair.a.nic.counters().timeouts; }

  Pair pair;
  Psn first{};
};

TEST_F(ReadFlight, IsSmallAfterATimeout) {
  for (int retry = 0; retry < 3; ++retry) {
    pair.seen.clear();
    pair.wait(kTimeout);
    EXPECT_EQ(pair.seen.size(), 2U);  // the second READ fills the limit of eight packets
  }
}

TEST_F(ReadFlight, GrowsWithWhatArrives) {
  pair.lose = nullptr;
  pair.wait(kTimeout);
  EXPECT_EQ(pair.a.completions().size(), kReads);
  EXPECT_EQ(timeouts(), 1U);
}

TEST_F(ReadFlight, DataBeyondTheGapPutsTheTimeoutOff) {
  answer(3 * kPacketsEach + 1);
  EXPECT_EQ(pair.a.nic.counters().implied_naks, 1U);
  for (std::uint32_t psn = 2; psn < 8 * kPacketsEach; ++psn) {
    pair.wait(kTimeout / 3);
    if (psn % kPacketsEach != 0) answer(psn);
  }
  EXPECT_EQ(timeouts(), 0U);
  EXPECT_EQ(pair.a.nic.counters().implied_naks, 1U) << "one loss, one retry";

  // The peer has sent everything, and no request was repeated in vain.
  pair.wait(kTimeout);
  EXPECT_EQ(timeouts(), 1U);
  pair.lose = nullptr;
  pair.wait(kTimeout);
  EXPECT_EQ(pair.a.completions().size(), kReads);
}

// The peer may send ACKs forever to update its credits: they do not show that it has the request.
TEST_F(ReadFlight, AnAckDoesNotPutItOff) {
  answer(3 * kPacketsEach + 1);
  for (int i = 0; i < 3; ++i) {
    wire::Frame frame;
    frame.flow = {.source = pair.b.gid, .destination = pair.a.gid};
    frame.headers.bth.opcode = wire::opcode(wire::Transport::kRc, kAcknowledge);
    frame.headers.bth.dest_qp = pair.a.qpn();
    frame.headers.bth.psn = first + (kReads * kPacketsEach - 1);
    pair.a.nic.receive({&frame, 1}, pair.now);
    pair.wait(kTimeout / 2);
  }
  EXPECT_EQ(timeouts(), 1U);
}

}  // namespace
}  // namespace nerve::nic::read_flight_test
