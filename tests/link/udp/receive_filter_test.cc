// Goal: the kernel drops packets for processes that do not exist, and passes all others. Method: a
// packet that must arrive after each one that must not.
#include "link/udp/receive_filter.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "tests/link/udp/udp_pair.h"

namespace nerve::link {
namespace {

constexpr std::uint32_t kSockets = 4;

class ReceiveFilter : public testing::Test {
 protected:
  ReceiveFilter() {
    flows.push_back({.source = kHere4, .destination = kHere4});
    if (machine_has_ipv6_loopback()) flows.push_back({.source = kHere6, .destination = kHere6});
  }
  Sample to(const wire::Flow& flow, std::uint32_t process) {
    Sample sample = random_sample(prng, flow, kSendOnly, 16);
    sample.headers.bth.dest_qp = Qpn{process << PortGroup::kQpnShift | 77U};
    return sample;
  }
  UdpPair pair{{.sockets = kSockets}};
  Prng prng{1};
  std::vector<wire::Flow> flows;
};

TEST_F(ReceiveFilter, TakesPacketsForItsProcessesOnly) {
  const std::array<std::uint32_t, 3> processes{1, 9, 1021};
  ASSERT_EQ(take_only(pair.group->socket(1), processes, MulticastQpn::kDrop), 0);
  for (const wire::Flow& flow : flows) {
    for (const std::uint32_t process : processes) {
      const Sample wanted = to(flow, process);
      // One by one: the kernel treats a train as one packet.
      for (const Sample& sample : {to(flow, 5), to(flow, 1017), wanted}) pair.send({sample});
      expect_equal(pair.receive(1, 1), {wanted});
    }
  }
  EXPECT_EQ(pair.receivers[1]->overflowed(), 2 * processes.size() * flows.size());
}

TEST_F(ReceiveFilter, PassesWholeTrains) {
  const std::array<std::uint32_t, 1> processes{2};
  ASSERT_EQ(take_only(pair.group->socket(2), processes, MulticastQpn::kDrop), 0);
  const std::vector<Sample> sent(50, to(flows[0], 2));
  pair.send(sent);
  expect_equal(pair.receive(sent.size(), 2), sent);
}

TEST_F(ReceiveFilter, TakesTheMulticastQpnIfAsked) {
  Sample sample = random_sample(prng, flows[0], kSendOnly, 16);
  sample.headers.bth.dest_qp = Qpn{Qpn::kMask};
  ASSERT_EQ(take_only(pair.group->socket(0), {}, MulticastQpn::kTake), 0);
  pair.send({to(flows[0], 0)});
  pair.send({sample});
  expect_equal(pair.receive(1, 0), {sample});
}

// It replaces the one before.
TEST_F(ReceiveFilter, CanTakeNothing) {
  const std::array<std::uint32_t, 1> processes{3};
  ASSERT_EQ(take_only(pair.group->socket(3), {}, MulticastQpn::kDrop), 0);
  pair.send({to(flows[0], 3)});
  ASSERT_EQ(take_only(pair.group->socket(3), processes, MulticastQpn::kDrop), 0);
  const Sample wanted = to(flows[0], 3);
  pair.send({wanted});
  expect_equal(pair.receive(1, 3), {wanted});
}

TEST_F(ReceiveFilter, HasALimit) {
  const std::vector<std::uint32_t> many(kMostProcesses + 1, 4);
  EXPECT_EQ(take_only(pair.group->socket(0), many, MulticastQpn::kDrop), E2BIG);
  EXPECT_EQ(
      take_only(pair.group->socket(0), std::span{many}.first(kMostProcesses), MulticastQpn::kTake),
      0);
}

}  // namespace
}  // namespace nerve::link
