// Goal: frames take the available transport, and a ring is requested if there is none.
#include "host/network/exchange.h"

#include <gtest/gtest.h>

#include "tests/link/tap/frames.h"

namespace nerve::host {
namespace {

constexpr std::uint32_t kOwnSlot = 5;
constexpr std::uint32_t kOtherSlot = 9;
constexpr wire::Gid kFarAway = wire::Gid::ipv4(198, 51, 100, 7);

void send_to(Exchange& exchange, const wire::Gid& gid, std::uint32_t slot) {
  link::TestFrame made{"RC_SEND_ONLY", slot << kSlotShift | 2, 1};
  wire::Frame frame = made.frame();
  frame.flow.destination = gid;
  exchange.send({&frame, 1}, Time{});
}

// A peer that did not answer, because it was stopped, is asked again when there is something to
// send to it.
TEST(Exchange, RequestsTheRingAgainForAPeerWithoutOne) {
  Exchange exchange{Transport::kShm, kOwnSlot};
  exchange.set_local({link::kThere});
  EXPECT_FALSE(exchange.take_wanted());
  send_to(exchange, link::kThere, kOtherSlot);
  EXPECT_EQ(exchange.early_counters().unreachable, 1U);
  EXPECT_EQ(exchange.take_wanted(), kOtherSlot);
  EXPECT_FALSE(exchange.take_wanted());
}

TEST(Exchange, RequestsNoRingThatCannotExist) {
  Exchange exchange{Transport::kShm, kOwnSlot};
  exchange.set_local({link::kThere});
  send_to(exchange, kFarAway, kOtherSlot);
  send_to(exchange, link::kThere, kOwnSlot);
  EXPECT_FALSE(exchange.take_wanted());

  Exchange by_udp{Transport::kUdp, kOwnSlot};
  by_udp.set_local({link::kThere});
  send_to(by_udp, link::kThere, kOtherSlot);
  EXPECT_FALSE(by_udp.take_wanted());
}

// Such frames come from the network, and each request costs system calls.
TEST(Exchange, RemembersForAMomentThatASlotIsEmpty) {
  Exchange exchange{Transport::kAuto, kOwnSlot};
  link::TestFrame made{"RC_SEND_ONLY", kOtherSlot << kSlotShift | 2, 1};
  const wire::Frame frame = made.frame();
  const Time start{std::chrono::seconds{1}};
  exchange.forward({&frame, 1}, start);
  EXPECT_EQ(exchange.take_wanted(), kOtherSlot);
  exchange.remember_nobody(kOtherSlot, start);
  exchange.forward({&frame, 1}, start + std::chrono::milliseconds{9});
  EXPECT_FALSE(exchange.take_wanted());
  exchange.forward({&frame, 1}, start + std::chrono::milliseconds{10});
  EXPECT_EQ(exchange.take_wanted(), kOtherSlot);
  EXPECT_EQ(exchange.early_counters().unreachable, 3U);
}

// However small the ring, a refused QP is notified once it is empty again.
TEST(Exchange, ASmallRingHasRoomAgain) {
  constexpr std::uint64_t kSmallest = std::uint64_t{1} << 16;
  Exchange exchange{Transport::kShm, kOwnSlot};
  exchange.set_local({link::kThere});
  exchange.set_own(OwnRing::make(ring_size(kSmallest)));
  const wire::Flow flow{.source = link::kHere, .destination = link::kThere};
  const nic::EgressGate::Request request{
      .flow = flow, .destination = Qpn{kOwnSlot << kSlotShift | 2}, .reliable = true, .frames = 64};
  exchange.begin_burst(Time{});
  ASSERT_GT(exchange.grant(request), 0U);
  ASSERT_EQ(exchange.grant(request), 0U);
  exchange.begin_burst(Time{});
  EXPECT_TRUE(exchange.room_again(Time{}));
  EXPECT_GT(exchange.grant(request), 0U);
}

}  // namespace
}  // namespace nerve::host
