// Goal: a timeout is followed by a small flight that grows with each answer, so that a peer which
// is slow rather than deaf is not buried in duplicates (found with Soft-RoCE in a slow guest).
#include <gtest/gtest.h>

#include <chrono>
#include <utility>
#include <vector>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::Pair;
using test::Seen;

constexpr std::uint32_t kPackets = 60;
constexpr Duration kTimeout{std::chrono::microseconds{4'195}};  // 4.096 us * 2^10, and a little

struct Flight : ::testing::Test {
  Flight() {
    pair.connect();
    EXPECT_TRUE(pair.a.post({.wr_id = 1,
                             .op = SendOp::kWrite,
                             .flags = SendFlags::kSignaled,
                             .remote_address = pair.b.at(0),
                             .rkey = pair.b.keys.rkey},
                            0, kPackets * 1024));
  }

  // What `a` sent while time passed.
  std::uint32_t sent_in(Duration time) {
    pair.seen.clear();
    pair.wait(time);
    std::uint32_t count = 0;
    for (const Seen& frame : pair.seen) count += frame.from_a ? 1 : 0;
    return count;
  }

  Pair pair;
};

TEST_F(Flight, IsSmallAfterATimeout) {
  pair.lose = [](const Seen&) { return true; };
  pair.exchange();
  EXPECT_EQ(pair.seen.size(), kPackets);
  EXPECT_TRUE(pair.seen.back().headers.bth.ack_request);
  for (int retry = 0; retry < 3; ++retry) {
    EXPECT_EQ(sent_in(kTimeout), 8U);
    EXPECT_TRUE(pair.seen.back().headers.bth.ack_request);  // else nothing would set it going again
  }
}

TEST_F(Flight, GrowsWithEveryAnswer) {
  pair.lose = [](const Seen&) { return true; };
  pair.exchange();
  pair.lose = nullptr;
  EXPECT_EQ(sent_in(kTimeout), kPackets);
  // The packets of `a` between answers of `b`: each time as many more as the flight has grown by.
  std::vector<std::uint32_t> flights{0};
  for (const Seen& frame : pair.seen) {
    if (frame.from_a) {
      ++flights.back();
    } else {
      flights.push_back(0);
    }
  }
  EXPECT_EQ(flights, (std::vector<std::uint32_t>{8, 16, 32, 4, 0}));
  const auto got = pair.a.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].status, WcStatus::kSuccess);
}

TEST_F(Flight, IsWholeAfterANak) {
  bool once = true;
  pair.lose = [&](const Seen& frame) { return frame.from_a && std::exchange(once, false); };
  pair.exchange();
  EXPECT_EQ(pair.a.completions().size(), 1U);
  EXPECT_EQ(pair.a.nic.counters().timeouts, 0U);
}

}  // namespace
}  // namespace nerve::nic
