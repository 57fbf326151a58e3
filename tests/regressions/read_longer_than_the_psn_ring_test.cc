// The length in the RETH of a READ was not limited. A READ of 4 GB at an MTU of 256 bytes takes
// 2^24 PSNs, the whole ring, so the expected PSN did not change. Messages are limited to 2 GB, and
// a longer READ gets an invalid request NAK.
#include <gtest/gtest.h>

#include <vector>

#include "base/no_contents.h"
#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(ReadRequest, BeyondTwoGigabytesIsRejected) {
  NoContents none;
  Side a{1, {.mtu = Mtu::k256, .port = &none, .length = 1ULL << 33}};
  Side b{2, {.mtu = Mtu::k256, .port = &none, .length = 1ULL << 33}};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 100, b, 0, b.keys.rkey));
  const Psn before = b.nic.query_qp(b.qp)->attributes.rq_psn;
  std::vector<wire::Frame> forged;
  pass(a, b, at(1), [&](const wire::Frame& f) {
    forged.push_back(f);
    return false;
  });
  forged[0].headers.reth.length = 0xffff'ffff;
  b.nic.receive(forged, at(1));
  EXPECT_EQ(b.state(), QpState::kErr) << "expected PSN before " << before.value() << " after "
                                      << b.nic.query_qp(b.qp)->attributes.rq_psn.value();
}

}  // namespace nerve::nic
