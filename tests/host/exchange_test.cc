// Goal: frames take the way that is there, and where there is none one is looked for.
#include "host/exchange.h"

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

// One who did not answer when we met, for he was stopped, is asked again when there is something
// for him.
TEST(Exchange, ANeighbourWithoutARingIsAskedAgain) {
  Exchange exchange{Transport::kShm, kOwnSlot};
  exchange.set_local({link::kThere});
  EXPECT_FALSE(exchange.take_wanted());
  send_to(exchange, link::kThere, kOtherSlot);
  EXPECT_EQ(exchange.counters().unreachable, 1U);
  EXPECT_EQ(exchange.take_wanted(), kOtherSlot);
  EXPECT_FALSE(exchange.take_wanted());
}

TEST(Exchange, NobodyIsAskedWhereNoRingCouldLead) {
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

}  // namespace
}  // namespace nerve::host
