// Goal: the kernel passes each process the packets of its own QPs, and the port to only one group.
// Method: groups of several sockets on their own port, and packets to QPs of each.
#include "link/udp/port_group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "tests/link/udp/udp_pair.h"

namespace nerve::link {
namespace {

Sample to_qp(Prng& prng, const wire::Flow& flow, std::uint32_t qpn) {
  Sample sample = random_sample(prng, flow, kSendOnly, 16);
  sample.headers.bth.dest_qp = Qpn{qpn};
  return sample;
}

}  // namespace

TEST(PortGroup, SteersByTheProcessPartOfTheQpn) {
  UdpPair pair{{.sockets = 4}};
  Prng prng{1};
  std::vector<wire::Flow> flows{{.source = kHere4, .destination = kHere4}};
  if (machine_has_ipv6_loopback()) flows.push_back({.source = kHere6, .destination = kHere6});
  for (const wire::Flow& flow : flows) {
    for (const std::uint32_t qpn : {1U, 17U, 0x3fffU, 0x4000U, 0x4001U, 0x8005U, 0xffffU, 0x1'0000U,
                                    0xff'c000U, 0xff'fffeU, 0xff'ffffU}) {
      SCOPED_TRACE("qpn " + std::to_string(qpn));
      const std::uint32_t index = pair.group->index_of(Qpn{qpn});
      EXPECT_EQ(index, qpn == 0xff'ffff ? 0 : qpn >> 14U & 3U);
      const Sample sent = to_qp(prng, flow, qpn);
      pair.send({sent});
      expect_equal(pair.receive(1, index), {sent});
    }
  }
}

TEST(PortGroup, ManagementHasItsOwnSocket) {
  auto made = PortGroup::create({.port = 0, .sockets = 4, .management = true});
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_EQ(made->size(), 4U);
  ASSERT_EQ(made->fds().size(), 5U);
  std::vector<int> copies;
  for (const int fd : made->fds()) copies.push_back(::dup(fd));
  const auto group = PortGroup::adopt(copies, made->port());
  ASSERT_TRUE(group) << group.error().text;
  EXPECT_TRUE(group->has_management());
  EXPECT_EQ(group->size(), 4U);
  const auto sender = UdpSender::open({.port = group->port(), .family = group->family()});
  ASSERT_TRUE(sender);
  Prng prng{6};
  const wire::Flow flow{.source = kHere4, .destination = kHere4};
  for (const auto& [qpn, index] : {std::pair{1U, 4U}, {0U, 0U}, {2U, 0U}, {0xc001U, 3U}}) {
    SCOPED_TRACE("qpn " + std::to_string(qpn));
    EXPECT_EQ(group->index_of(Qpn{qpn}), index);
    (*sender)->send(Frames{{to_qp(prng, flow, qpn)}}.span(), Time{});
    // Other processes may have been reading it before us, so pending packets are kept.
    UdpReceiver receiver{*group, index, UdpReceiver::Unread::kKeep};
    pollfd until{.fd = receiver.fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&until, 1, 2000), 1);
    Collector collector;
    EXPECT_EQ(receiver.receive(collector, 10, Time{}), 1U);
  }
}

TEST(PortGroup, SteersWholeTrains) {
  UdpPair pair{{.sockets = 2}};
  Prng prng{2};
  const wire::Flow flow{.source = kHere4, .destination = kHere4};
  for (const std::uint32_t index : {0U, 1U}) {
    const std::vector<Sample> sent(50, to_qp(prng, flow, index << 14U | 20U));
    pair.send(sent);
    expect_equal(pair.receive(sent.size(), index), sent);
  }
}

TEST(PortGroup, IsExclusive) {
  const auto group = PortGroup::create({.port = 0, .sockets = 2});
  ASSERT_TRUE(group) << group.error().text;
  const auto again = PortGroup::create({.port = group->port(), .sockets = 2});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, EADDRINUSE);
  EXPECT_NE(again.error().text.find(std::to_string(group->port())), std::string::npos);
}

TEST(PortGroup, OutlivesTheProcessThatMadeIt) {
  auto first = PortGroup::create({.port = 0, .sockets = 4});
  ASSERT_TRUE(first) << first.error().text;
  std::vector<int> copies;
  for (const int fd : first->fds()) copies.push_back(::dup(fd));
  const std::uint16_t port = first->port();
  { const PortGroup gone = *std::move(first); }
  const auto adopted = PortGroup::adopt(copies, port);
  ASSERT_TRUE(adopted) << adopted.error().text;
  auto sender = UdpSender::open({.port = port, .family = adopted->family()});
  ASSERT_TRUE(sender);
  Prng prng{3};
  const wire::Flow flow{.source = kHere4, .destination = kHere4};
  for (std::uint32_t index = 0; index < 4; ++index) {
    UdpReceiver receiver{*adopted, index};
    (*sender)->send(Frames{{to_qp(prng, flow, index << 14U)}}.span(), Time{});
    pollfd until{.fd = receiver.fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&until, 1, 2000), 1);
    Collector collector;
    EXPECT_EQ(receiver.receive(collector, 10, Time{}), 1U);
  }
  EXPECT_EQ(PortGroup::create({.port = port}).error().code, EADDRINUSE);
}

TEST(PortGroup, UnreadPacketsOfAnEarlierProcessAreDiscarded) {
  UdpPair pair;
  Prng prng{4};
  const wire::Flow flow{.source = kHere4, .destination = kHere4};
  pair.send({to_qp(prng, flow, 5), to_qp(prng, flow, 5)});
  UdpReceiver successor{*pair.group, 0};
  Collector collector;
  EXPECT_EQ(successor.receive(collector, 10, Time{}), 0U);
}

TEST(PortGroup, RefusesInvalidDescriptors) {
  EXPECT_EQ(PortGroup::create({.port = 0, .sockets = 3}).error().code, EINVAL);
  EXPECT_EQ(PortGroup::create({.port = 0, .sockets = 0}).error().code, EINVAL);
  EXPECT_EQ(PortGroup::create({.port = 0, .sockets = 1, .management = true}).error().code, EINVAL);
  EXPECT_EQ(PortGroup::adopt({}, 4791).error().code, EINVAL);
  EXPECT_EQ(PortGroup::adopt({::dup(0)}, 4791).error().code, EINVAL);
  const auto group = PortGroup::create({.port = 0, .sockets = 1});
  ASSERT_TRUE(group);
  EXPECT_EQ(PortGroup::adopt({::dup(group->fds()[0])}, 1).error().code, EINVAL);  // another port
  EXPECT_EQ(PortGroup::adopt({-1}, 4791).error().code, EINVAL);
}

TEST(PortGroup, MulticastReachesSocketsThatJoined) {
  UdpPair pair{{.sockets = 4}};
  Prng prng{5};
  const wire::Gid group = wire::Gid::ipv4(239, 1, 2, 3);
  constexpr std::uint32_t kLoopback = 1;  // its index in every network namespace
  const wire::Flow flow{.source = kHere4, .destination = group};
  pair.sender->set_interface(kHere4, kLoopback);
  const Sample sent = to_qp(prng, flow, 0xff'ffff);
  for (const std::uint32_t index : {1U, 3U}) {
    ASSERT_EQ(pair.receivers[index]->join(group, kLoopback), 0);
  }
  pair.send({sent});
  for (const std::uint32_t index : {1U, 3U}) expect_equal(pair.receive(1, index), {sent});
  for (const std::uint32_t index : {0U, 2U}) {
    Collector collector;
    EXPECT_EQ(pair.receivers[index]->receive(collector, 10, Time{}), 0U);
  }
  ASSERT_EQ(pair.receivers[1]->leave(group, kLoopback), 0);
  EXPECT_NE(pair.receivers[1]->leave(group, kLoopback), 0);
  EXPECT_EQ(pair.receivers[0]->join(kHere4, kLoopback), EINVAL);
  pair.send({sent});
  expect_equal(pair.receive(1, 3), {sent});
  Collector collector;
  EXPECT_EQ(pair.receivers[1]->receive(collector, 10, Time{}), 0U);
}

// Regression: processes joined with a socket of the group. With more processes, or shards, than the
// group has sockets, another process could read the packet.
TEST(PortGroup, MulticastSocketsAreNotPartOfTheGroup) {
  UdpPair pair{{.sockets = 4}};
  Prng prng{7};
  const wire::Gid group = wire::Gid::ipv4(239, 1, 2, 4);
  constexpr std::uint32_t kLoopback = 1;
  pair.sender->set_interface(kHere4, kLoopback);
  std::vector<UdpSocket> sockets;
  std::vector<std::unique_ptr<UdpReceiver>> receivers;
  for (int i = 0; i < 3; ++i) {
    auto made = pair.group->make_multicast_socket({});
    ASSERT_TRUE(made) << made.error().text;
    sockets.push_back(*std::move(made));
  }
  for (const UdpSocket& socket : sockets) {
    receivers.push_back(std::make_unique<UdpReceiver>(socket, pair.group->port()));
    ASSERT_EQ(receivers.back()->join(group, kLoopback), 0);
  }
  pair.send({to_qp(prng, {.source = kHere4, .destination = group}, 0xff'ffff)});
  for (const auto& receiver : receivers) {
    pollfd until{.fd = receiver->fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&until, 1, 2000), 1);
    Collector collector;
    EXPECT_EQ(receiver->receive(collector, 10, Time{}), 1U);
  }
  // Other packets go where they went before, also after one of them has closed.
  receivers.erase(receivers.begin());
  sockets.erase(sockets.begin());
  for (std::uint32_t index = 0; index < 4; ++index) {
    const Sample sent = to_qp(prng, {.source = kHere4, .destination = kHere4}, index << 14U | 20U);
    pair.send({sent});
    expect_equal(pair.receive(1, index), {sent});
  }
}

}  // namespace nerve::link
