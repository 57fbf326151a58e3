// Goal: the estimate follows RFC 6298 and is robust against clock jumps and retransmissions.
// Method: hand-made samples.
#include "nic/flow_control/smoothed_round_trip.h"

#include <gtest/gtest.h>

namespace nerve::nic {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

struct SmoothedRoundTrips : ::testing::Test {
  void sample(Duration round_trip) {
    trip.on_send(psn, now);
    now += round_trip;
    trip.on_ack(psn + 1, now);
    psn = psn + 1;
  }
  SmoothedRoundTrip trip;
  Time now{Duration{1}};
  Psn psn{0xff'fffe};  // across the wrap
};

TEST_F(SmoothedRoundTrips, BeginWithTheFirstSample) {
  EXPECT_FALSE(trip.patience());
  sample(microseconds{100});
  EXPECT_EQ(trip.patience(), microseconds{300});  // the mean plus four deviations of half the mean
}

TEST_F(SmoothedRoundTrips, SettleAtTwiceASteadyRoundTrip) {
  for (int i = 0; i < 100; ++i) sample(microseconds{100});
  EXPECT_EQ(trip.patience(), microseconds{200});
}

TEST_F(SmoothedRoundTrips, MeasureOnePacketAtATime) {
  trip.on_send(Psn{1}, now);
  trip.on_send(Psn{2}, now + microseconds{50});
  trip.on_ack(Psn{1}, now + microseconds{70});
  EXPECT_FALSE(trip.patience()) << "the packet measured is not acknowledged";
  trip.on_ack(Psn{3}, now + microseconds{100});
  EXPECT_EQ(trip.patience(), microseconds{300});
}

TEST_F(SmoothedRoundTrips, ForgetWhatWasSentAgain) {
  trip.on_send(psn, now);
  trip.forget();
  trip.on_ack(psn + 1, now + seconds{1});
  EXPECT_FALSE(trip.patience());
}

TEST_F(SmoothedRoundTrips, BoundWhatAJumpingClockSays) {
  sample(seconds{1'000'000});
  EXPECT_LE(*trip.patience(), seconds{3});
  sample(-seconds{10});
  EXPECT_GT(*trip.patience(), Duration{});
}

}  // namespace
}  // namespace nerve::nic
