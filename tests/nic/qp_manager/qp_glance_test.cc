// Goal: an engine lists its QPs for people, and counts where its configuration says. Method: a pair
// of engines.
#include <gtest/gtest.h>

#include "tests/nic/pair.h"

namespace nerve::nic {

TEST(QpGlance, NamesThePeerOnceItIsKnown) {
  test::Pair pair;
  const std::vector<QpGlance> fresh = pair.a.nic.glance_at_qps(10, Time{});
  ASSERT_EQ(fresh.size(), 1U);
  EXPECT_EQ(fresh[0].peer, Qpn{});
  EXPECT_EQ(fresh[0].rate, std::nullopt);
  pair.connect();
  const std::vector<QpGlance> connected = pair.a.nic.glance_at_qps(10, Time{});
  ASSERT_EQ(connected.size(), 1U);
  EXPECT_EQ(connected[0].state, QpState::kRts);
  EXPECT_EQ(connected[0].peer, pair.b.nic.glance_at_qps(10, Time{})[0].qpn);
  EXPECT_TRUE(pair.a.nic.glance_at_qps(0, Time{}).empty());
  EXPECT_EQ(pair.a.nic.qp_count(), 1U);
}

TEST(QpGlance, TellsTheRateOfCongestionControl) {
  test::EndSetup setup;
  setup.config.flow_control.algorithm = CcAlgorithm::kDcqcn;
  test::Pair pair{setup};
  pair.connect();
  const std::vector<QpGlance> qps = pair.a.nic.glance_at_qps(10, Time{});
  ASSERT_EQ(qps.size(), 1U);
  ASSERT_TRUE(qps[0].rate);
  EXPECT_EQ(*qps[0].rate, setup.config.line_rate);
}

TEST(Counters, AreWhereTheHostWantsThem) {
  Counters shared;
  test::EndSetup setup;
  setup.hooks.counters = &shared;
  test::Pair pair{setup};
  EXPECT_EQ(&pair.a.nic.counters(), &shared);
}

}  // namespace nerve::nic
