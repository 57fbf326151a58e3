// The PSNs of READ responses counted against the limit of outstanding packets, so one READ of 16 MB
// filled the window and the next ones were not sent before it had completed. The peer paces
// responses, so they no longer count.
#include <gtest/gtest.h>

#include "base/no_contents.h"
#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(LongReads, ArePipelined) {
  NoContents none;
  Side a{1, {.mtu = Mtu::k1024, .port = &none, .length = 1ULL << 31}};
  Side b{2, {.mtu = Mtu::k1024, .port = &none, .length = 1ULL << 31}};
  a.connect(b);
  b.connect(a);
  for (std::uint64_t i = 0; i < 4; ++i)
    ASSERT_TRUE(a.rdma(SendOp::kRead, i, 0, 16 << 20, b, 0, b.keys.rkey));
  EXPECT_EQ(pass(a, b, at(1)), 4U);
}

}  // namespace nerve::nic
