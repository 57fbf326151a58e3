// Goal: packets that cannot be sent as requested are sent in another form, or counted. Method: more
// source ports than sockets, taken ports, foreign addresses, bytes encoded for another port.
#include "link/udp/udp_sender.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <set>

#include "link/udp/train.h"
#include "tests/link/udp/udp_pair.h"
#include "tests/seeds.h"
#include "wire/crc32.h"

namespace nerve::link {
namespace {

constexpr wire::Flow kFlow{.source = kHere4, .destination = kThere4};

wire::Flow from_port(std::uint16_t port) {
  wire::Flow flow = kFlow;
  flow.source_port = port;
  return flow;
}

std::vector<std::byte> encoded(const Sample& sample) {
  const Frames frames{{sample}};
  std::vector<std::byte> bytes(wire::udp_payload_size(frames.span()[0]));
  wire::encode_udp_payload(frames.span()[0], wire::Envelope{}, bytes);
  return bytes;
}

// The descriptor of this process whose socket is bound to the port.
int socket_on(std::uint16_t port) {
  for (int fd = 3; fd < 200; ++fd) {
    const int copy = ::dup(fd);
    if (copy >= 0 && UdpSocket{copy}.bound_port() == port) return fd;
  }
  return -1;
}

}  // namespace

TEST(UdpSender, EachFlowLeavesFromThePortItWants) {
  UdpPair pair;
  Prng prng{1};
  // A port that is free now; if another process takes it, the packet leaves from another port.
  const std::uint16_t port = [] {
    const auto socket = UdpSocket::make(IpFamily::kDual);
    EXPECT_EQ(socket->bind(IpFamily::kDual, 0), 0);
    return socket->bound_port();
  }();
  pair.send({random_sample(prng, from_port(port), kSendOnly, 3)});
  const auto got = pair.receive(1);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].flow.source_port, port);
}

TEST(UdpSender, ATakenPortIsReplacedAndTheIcrcFollows) {
  UdpPair pair;
  Prng prng{2};
  const auto taken = UdpSocket::make(IpFamily::kDual);
  ASSERT_EQ(taken->bind(IpFamily::kDual, 0), 0);
  const Sample sent = random_sample(prng, from_port(taken->bound_port()), kSendOnly, 3);
  pair.send({sent});
  const auto got = pair.receive(1);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_NE(got[0].flow.source_port, taken->bound_port());
  expect_equal(got, {sent});
}

TEST(UdpSender, PortsShareSocketsWhenThereAreTooMany) {
  UdpPair pair{{.max_senders = 4}};
  Prng prng{3};
  std::vector<Sample> sent;
  for (std::uint16_t i = 0; i < 40; ++i) {
    const auto port = static_cast<std::uint16_t>(50'000 + i);
    sent.push_back(random_sample(prng, from_port(port), kSendOnly, 3));
    sent.push_back(random_sample(prng, from_port(port), kSendMiddle, 64));
  }
  pair.send(sent);
  const auto got = pair.receive(sent.size());
  expect_equal(got, sent);
  EXPECT_EQ(pair.sender->sockets(), 4U);
  std::set<std::uint16_t> ports;
  for (const Sample& sample : got) ports.insert(sample.flow.source_port);
  EXPECT_EQ(ports.size(), 4U);
  EXPECT_EQ(pair.receivers[0]->counters().bad_icrc, 0U);
}

// A controller of paths gives flows other ports again and again.
TEST(UdpSender, AnIdlePortMakesRoomForANewOne) {
  constexpr std::uint16_t kFlows = 100;
  UdpPair pair{{.max_senders = 4}};
  Prng prng{11};
  Time now{std::chrono::seconds{1}};
  for (std::uint16_t i = 0; i < kFlows; ++i) {
    now += SendSockets::kIdle / 2;
    const auto port = static_cast<std::uint16_t>(50'000 + 7 * i);
    const std::vector<Sample> sent{random_sample(prng, from_port(port), kSendOnly, 3),
                                   random_sample(prng, kFlow, kSendOnly, 3),
                                   random_sample(prng, from_port(port), kSendMiddle, 64)};
    const std::uint16_t real = pair.sender->real_port(port, now);
    pair.sender->send(Frames{sent}.span(), now);
    EXPECT_EQ(pair.sender->real_port(port, now), real);
    const auto got = pair.receive(sent.size());
    expect_equal(got, sent);
    ASSERT_EQ(got.size(), sent.size());
    std::size_t from_it = 0;
    for (const Sample& one : got) from_it += one.flow.source_port == real ? 1 : 0;
    EXPECT_EQ(from_it, 2U);
    EXPECT_EQ(real, port) << "unless another process has it";
    EXPECT_LE(pair.sender->sockets(), 4U);
  }
  EXPECT_EQ(pair.receivers[0]->counters().bad_icrc, 0U);
}

TEST(UdpSender, PortsInUseAreNotReplaced) {
  UdpPair pair{{.max_senders = 4}};
  Prng prng{12};
  const Time now{std::chrono::seconds{1}};
  std::vector<Sample> sent;
  for (std::uint16_t i = 0; i < 40; ++i) {
    sent.push_back(
        random_sample(prng, from_port(static_cast<std::uint16_t>(51'000 + i % 20)), kSendOnly, 3));
  }
  // All in one call, and then again before any of them has been idle.
  for (const Time at : {now, now + SendSockets::kIdle / 2}) {
    pair.sender->send(Frames{sent}.span(), at);
    const auto got = pair.receive(sent.size());
    expect_equal(got, sent);
    std::set<std::uint16_t> ports;
    for (const Sample& one : got) ports.insert(one.flow.source_port);
    EXPECT_EQ(ports, (std::set<std::uint16_t>{51'000, 51'001, 51'002, 51'003}));
  }
}

TEST(UdpSender, AForgottenPortIsFreeAgain) {
  UdpPair pair{{.max_senders = 32}};
  Prng prng{13};
  const Time now{std::chrono::seconds{1}};
  const auto send = [&](std::uint16_t port, Time at) {
    pair.sender->send(Frames{{random_sample(prng, from_port(port), kSendOnly, 3)}}.span(), at);
    EXPECT_EQ(pair.receive(1).size(), 1U);
  };
  for (std::uint16_t i = 0; i < 10; ++i) send(static_cast<std::uint16_t>(52'000 + i), now);
  EXPECT_EQ(pair.sender->sockets(), 10U);
  send(52'003, now + SendSockets::kForgotten / 2);
  EXPECT_EQ(pair.sender->sockets(), 10U);
  send(52'003, now + SendSockets::kForgotten);
  EXPECT_EQ(pair.sender->sockets(), 2U) << "this one, and one that always remains";
  const auto other = UdpSocket::make(IpFamily::kDual);
  EXPECT_EQ(other->bind(IpFamily::kDual, 52'007), 0);
}

TEST(UdpSender, TheIcrcOfBytesFollowsTheRealPort) {
  const auto taken = UdpSocket::make(IpFamily::kDual);
  ASSERT_EQ(taken->bind(IpFamily::kDual, 0), 0);
  test::for_each_seed(50, [&](std::uint64_t seed) {
    UdpPair pair;
    Prng prng{seed};
    const Sample sent =
        random_sample(prng, from_port(taken->bound_port()), kSendOnly, prng.below(3000));
    pair.sender->send_bytes(sent.flow, encoded(sent), Time{});
    expect_equal(pair.receive(1), {sent});
    EXPECT_EQ(pair.receivers[0]->counters().solved, 0U);
  });
}

TEST(UdpSender, CorruptedBytesStayCorrupted) {
  UdpPair pair;
  Prng prng{4};
  for (int i = 0; i < 100; ++i) {
    const Sample sent = random_sample(prng, kFlow, kSendOnly, prng.below(200));
    auto bytes = encoded(sent);
    bytes[wire::Bth::kSize + prng.below(bytes.size() - wire::Bth::kSize)] ^=
        static_cast<std::byte>(1 + prng.below(255));
    pair.sender->send_bytes(sent.flow, bytes, Time{});
  }
  EXPECT_TRUE(pair.receive(100).empty());
  EXPECT_EQ(pair.receivers[0]->counters().bad_icrc, 100U);
}

TEST(UdpSender, CountsWhatItCannotSend) {
  UdpPair pair;
  Prng prng{5};
  const wire::Flow stranger{.source = wire::Gid::ipv4(192, 0, 2, 1), .destination = kThere4};
  const wire::Flow mixed{.source = kHere4, .destination = kHere6};
  pair.send(
      {random_sample(prng, stranger, kSendOnly, 8), random_sample(prng, mixed, kSendOnly, 8)});
  EXPECT_EQ(pair.sender->counters().dropped_unreachable, 2U);
  std::vector<Sample> train(5, random_sample(prng, stranger, kSendOnly, 8));
  pair.send(train);
  EXPECT_EQ(pair.sender->counters().dropped_unreachable, 7U);
  EXPECT_TRUE(pair.sender->segmentation().works);  // the train was not what was refused
  pair.sender->send_bytes(kFlow, std::vector<std::byte>(66'000), Time{});
  EXPECT_EQ(pair.sender->counters().dropped_too_big, 1U);

  const Sample good = random_sample(prng, kFlow, kSendOnly, 8);
  // A bad packet does not stop the rest.
  pair.send({random_sample(prng, stranger, kSendOnly, 8), good});
  expect_equal(pair.receive(1), {good});
}

// The kernel does not segment trains for a socket that may omit checksums.
TEST(UdpSender, ARefusedTrainIsSentPacketByPacket) {
  UdpPair pair;
  Prng prng{8};
  pair.send({random_sample(prng, kFlow, kSendOnly, 8)});
  const auto first = pair.receive(1);
  ASSERT_EQ(first.size(), 1U);
  constexpr int kOn = 1;
  ASSERT_EQ(
      ::setsockopt(socket_on(first[0].flow.source_port), SOL_SOCKET, SO_NO_CHECK, &kOn, sizeof kOn),
      0);
  for (int i = 0; i < 2; ++i) {
    std::vector<Sample> sent;
    for (int n = 0; n < 30; ++n) sent.push_back(random_sample(prng, kFlow, kSendOnly, 100));
    sent.push_back(random_sample(prng, kFlow, kSendOnly, 3));
    pair.send(sent);
    expect_equal(pair.receive(sent.size()), sent);
    EXPECT_FALSE(pair.sender->segmentation().works);
    EXPECT_NE(pair.sender->segmentation().reason.find("UDP_SEGMENT"), std::string::npos);
  }
  EXPECT_EQ(pair.receivers[0]->counters().solved, 0U);
  EXPECT_EQ(pair.sender->counters().trains, 0U);
}

// A capture shows the port that packets really went to, and the ICRC covers it.
TEST(UdpSender, TheIcrcCoversTheDestinationPort) {
  UdpPair pair;
  ASSERT_NE(pair.group->port(), wire::kRocePort);
  const auto wire_tap = UdpSocket::make(IpFamily::kIpv4);
  ASSERT_EQ(wire_tap->bind(IpFamily::kIpv4, 0), 0);
  const std::uint16_t port = wire_tap->bound_port();
  const auto sender = UdpSender::open({.port = port, .family = IpFamily::kIpv4});
  ASSERT_TRUE(sender);
  Prng prng{9};
  const Sample sent = random_sample(prng, kFlow, kSendOnly, 33);
  (*sender)->send(Frames{{sent}}.span(), Time{});
  (*sender)->send_bytes(kFlow, encoded(sent), Time{});
  for (int i = 0; i < 2; ++i) {
    std::array<std::byte, 200> packet{};
    sockaddr_in from{};
    socklen_t size = sizeof from;
    pollfd until{.fd = wire_tap->fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&until, 1, 2000), 1);
    const ssize_t got = ::recvfrom(wire_tap->fd(), packet.data(), packet.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    ASSERT_GT(got, 0);
    const Bytes bytes{packet.data(), static_cast<std::size_t>(got)};
    std::array<std::byte, wire::kMaxOuterSize> outer{};
    const std::size_t outer_size =
        wire::encode_outer(from_port(ntohs(from.sin_port)), {}, bytes.size(), outer);
    store_be<2>(outer, outer_size - wire::UdpHeader::kSize + 2, port);
    std::uint32_t state = wire::icrc_outer(Bytes{outer}.first(outer_size));
    state = wire::icrc_bth(state, bytes.first<wire::Bth::kSize>());
    state = wire::crc32(state, bytes.subspan(wire::Bth::kSize).first(bytes.size() - 16));
    EXPECT_EQ(wire::icrc_difference(state, bytes.last<wire::kIcrcSize>()), 0U);
  }
}

// Enters a network namespace whose only link has an MTU of 1500 bytes.
bool enter_small_network() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name);
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  request.ifr_mtu = 1500;
  const bool small = ::ioctl(fd, SIOCSIFMTU, &request) == 0;
  request.ifr_flags = IFF_UP;
  const bool up = ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  ::close(fd);
  return small && up;
}

// A path MTU that is too small for one train does not mean that trains are refused.
TEST(UdpSender, ASmallPathMtuDoesNotDisableTrains) {
  constexpr int kNoNetwork = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!enter_small_network()) ::_exit(kNoNetwork);
    UdpPair pair;
    Prng prng{10};
    pair.send(std::vector<Sample>(5, random_sample(prng, kFlow, kSendMiddle, 4096)));
    EXPECT_EQ(pair.sender->counters().dropped_too_big, 5U);
    EXPECT_TRUE(pair.sender->segmentation().works) << pair.sender->segmentation().reason;
    const std::vector<Sample> fits(5, random_sample(prng, kFlow, kSendMiddle, 1024));
    pair.send(fits);
    expect_equal(pair.receive(fits.size()), fits);
    EXPECT_EQ(pair.sender->counters().trains, 1U);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNetwork) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(status, 0);
}

TEST(UdpSender, TrainsEndWhereFlowOrSizeChange) {
  Prng prng{6};
  const auto frames_of = [&](std::vector<std::pair<wire::Flow, std::size_t>> shapes) {
    std::vector<Sample> samples;
    for (const auto& [flow, length] : shapes) {
      samples.push_back(random_sample(prng, flow, kSendOnly, length));
    }
    return samples;
  };
  const auto packets = [&](const std::vector<Sample>& samples, std::size_t limit = 64) {
    const Frames frames{samples};
    return next_train(frames.span(), limit).packets;
  };
  const wire::Flow other = from_port(7);
  EXPECT_EQ(packets(frames_of({{kFlow, 8}})), 1U);
  EXPECT_EQ(packets(frames_of({{kFlow, 8}, {kFlow, 8}, {kFlow, 8}})), 3U);
  EXPECT_EQ(packets(frames_of({{kFlow, 8}, {kFlow, 4}, {kFlow, 4}})), 2U);
  EXPECT_EQ(packets(frames_of({{kFlow, 4}, {kFlow, 8}})), 1U);
  EXPECT_EQ(packets(frames_of({{kFlow, 8}, {other, 8}})), 1U);
  EXPECT_EQ(packets(frames_of({{kFlow, 8}, {kFlow, 8}, {kFlow, 8}}), 2), 2U);
  EXPECT_EQ(packets({100, random_sample(prng, kFlow, kSendOnly, 8)}), 64U);
  EXPECT_EQ(packets({100, random_sample(prng, kFlow, kSendMiddle, 4096)}), 15U);
}

}  // namespace nerve::link
