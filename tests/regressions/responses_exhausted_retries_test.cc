// A retransmission that waited behind a long READ response used up its retries without having been
// sent. The retry timer was restarted when the QP went back, not when the first packet was
// retransmitted.
#include <gtest/gtest.h>

#include "base/no_contents.h"
#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(Responses, DoNotExhaustRetries) {
  NoContents none;
  Side a{1, {.port = &none, .length = 1ULL << 31}};
  Side b{2, {.timeout = 8, .port = &none, .length = 1ULL << 31}};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(b.rdma(SendOp::kWrite, 2, 0, 8, a, 0, a.keys.rkey));
  pass(b, a, at(1), [](const wire::Frame&) { return false; });  // the packet is lost once
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 512 << 20, b, 0, b.keys.rkey));
  for (std::int64_t us = 2; us < 1'000'000; us += 52) {  // 64 frames of 1 KiB at 10 Gb/s
    b.nic.expire(at(us));
    a.nic.expire(at(us));
    pass(a, b, at(us));
    pass(b, a, at(us));
    if (const auto done = b.poll(); !done.empty()) {
      EXPECT_EQ(done[0].status, WcStatus::kSuccess)
          << "retransmitted frames: " << b.nic.counters().retransmitted_frames << " at us " << us;
      return;
    }
  }
  FAIL();
}

}  // namespace nerve::nic
