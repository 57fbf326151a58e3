#include "nic/flow_control/cnp_filter.h"

#include <gtest/gtest.h>

#include "nic/nic.h"
#include "tests/nic/probe.h"

namespace nerve::nic {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::EndSetup;
using test::Probe;

constexpr Duration kInterval = microseconds{50};

TEST(CnpFilter, AdmitsWhatAnHonestReceiverSends) {
  CnpFilter filter;
  Time now;
  for (int i = 0; i < 1000; ++i) {
    filter.on_send(now);
    EXPECT_TRUE(filter.admits(kInterval, 4, now));
    now += kInterval;
  }
  // Four that were delayed, and arrive together.
  now += 3 * kInterval;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(filter.admits(kInterval, 4, now));
}

TEST(CnpFilter, AdmitsNoMoreThanThat) {
  CnpFilter filter;
  int admitted = 0;
  for (int i = 0; i < 10'000; ++i) {  // 10 ms
    const Time now{i * microseconds{1}};
    filter.on_send(now);
    for (int j = 0; j < 3; ++j) admitted += filter.admits(kInterval, 4, now) ? 1 : 0;
  }
  EXPECT_EQ(admitted, 4 + 199);
}

TEST(CnpFilter, AdmitsNoneToAnIdleQp) {
  for (const Time begin : {Time{}, Time{} + std::chrono::days{50} + std::chrono::days{50}}) {
    CnpFilter filter;
    EXPECT_FALSE(filter.admits(kInterval, 4, begin)) << "nothing was ever sent";
    filter.on_send(begin);
    EXPECT_TRUE(filter.admits(kInterval, 4, begin + milliseconds{100}));
    EXPECT_FALSE(filter.admits(kInterval, 4, begin + seconds{2}));
  }
}

TEST(CnpFilter, CanBeOff) {
  CnpFilter filter;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(filter.admits(kInterval, 0, Time{}));
}

TEST(ForgedCnps, AreCountedAndIgnored) {
  NicConfig config;
  config.flow_control.algorithm = CcAlgorithm::kDcqcn;
  config.flow_control.max_cnp_burst = 4;
  Probe probe{EndSetup{.config = config}};
  probe.end.bring_to(QpState::kRts);
  wire::Frame cnp = probe.frame(wire::Operation::kSendOnly, 0);
  cnp.headers.bth.opcode = wire::kCnpOpcode;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(probe.hear(cnp).empty());
  EXPECT_EQ(probe.end.nic.counters().cnps_ignored, 10U) << "an idle QP";
  ASSERT_TRUE(probe.end.post({}, 0, 8));
  EXPECT_EQ(probe.listen().size(), 1U);
  for (int i = 0; i < 10; ++i) (void)probe.hear(cnp);
  EXPECT_EQ(probe.end.nic.counters().cnps_ignored, 16U);
  EXPECT_EQ(probe.end.nic.counters().cnps_received, 20U);
}

}  // namespace
}  // namespace nerve::nic
