// Goal: the receiver drops all invalid packets, and still delivers the valid ones. Method: packets
// sent by a plain socket: truncated, corrupted, with other identifications, and by the thousand.
#include "link/udp/udp_receiver.h"

#include <gtest/gtest.h>

#include "tests/link/udp/udp_pair.h"
#include "tests/seeds.h"

namespace nerve::link {
namespace {

// A foreign socket: sends any bytes, with headers as the kernel writes them.
class Stranger {
 public:
  explicit Stranger(std::uint16_t to)
      : family_{machine_family()}, socket_{*UdpSocket::make(family_)}, to_{to} {
    EXPECT_EQ(socket_.bind(family_, 0), 0);
  }
  void send(Bytes bytes, const wire::Gid& to = kHere4) const {
    const SocketName name = SocketName::of(family_, to, to_);
    EXPECT_EQ(::sendto(socket_.fd(), bytes.data(), bytes.size(), 0,
                       reinterpret_cast<const sockaddr*>(&name), name.size),
              static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] wire::Flow flow() const {
    return {.source = kHere4, .destination = kHere4, .source_port = socket_.bound_port()};
  }
  // The envelope of a packet to that port.
  [[nodiscard]] wire::Envelope envelope() const { return {.destination_port = to_}; }
  [[nodiscard]] const UdpSocket& socket() const { return socket_; }

 private:
  IpFamily family_;
  UdpSocket socket_;
  std::uint16_t to_;
};

std::vector<std::byte> encoded(const Sample& sample, const wire::Envelope& envelope) {
  const Frames frames{{sample}};
  std::vector<std::byte> bytes(wire::udp_payload_size(frames.span()[0]));
  wire::encode_udp_payload(frames.span()[0], envelope, bytes);
  return bytes;
}

}  // namespace

TEST(UdpReceiver, DropsShortPackets) {
  UdpPair pair;
  const Stranger stranger{pair.group->port()};
  std::vector<std::byte> bytes(wire::Bth::kSize + 4);
  for (std::size_t n = 0; n < bytes.size(); ++n) stranger.send(Bytes{bytes}.first(n));
  EXPECT_TRUE(pair.receive(bytes.size()).empty());
  EXPECT_EQ(pair.receivers[0]->counters().malformed, bytes.size());
}

TEST(UdpReceiver, DropsEveryTruncationAndFlip) {
  UdpPair pair;
  const Stranger stranger{pair.group->port()};
  Prng prng{1};
  const auto bytes =
      encoded(random_sample(prng, stranger.flow(), kSendOnly, 21), stranger.envelope());
  std::size_t bad = 0;
  for (std::size_t n = 0; n < bytes.size(); ++n, ++bad) stranger.send(Bytes{bytes}.first(n));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at == 4) continue;  // not covered by the ICRC: routers may change it
    auto damaged = bytes;
    damaged[at] ^= std::byte{0x10};
    stranger.send(damaged);
    ++bad;
  }
  stranger.send(bytes);
  EXPECT_EQ(pair.receive(bad + 1).size(), 1U);
  const UdpReceiverCounters& counters = pair.receivers[0]->counters();
  EXPECT_EQ(counters.malformed + counters.bad_icrc, bad);
}

// Over IPv6 a datagram can be longer than anything with both headers in 65 535 bytes.
TEST(UdpReceiver, DropsLongPackets) {
  UdpPair pair;
  const Stranger stranger{pair.group->port()};
  std::size_t sent = 0;
  const std::vector<std::byte> bytes(65'488);
  stranger.send(bytes);
  ++sent;
  if (machine_has_ipv6_loopback()) {
    stranger.send(bytes, kHere6);
    ++sent;
  }
  EXPECT_TRUE(pair.receive(sent).empty());
  EXPECT_EQ(pair.receivers[0]->counters().malformed, sent);
}

TEST(UdpReceiver, FindsUnknownIdentifications) {
  UdpPair pair;
  const Stranger stranger{pair.group->port()};
  std::uint64_t packets = 0;
  test::for_each_seed(100, [&](std::uint64_t seed) {
    ++packets;
    Prng prng{seed};
    const Sample sent = random_sample(prng, stranger.flow(), kSendOnly, prng.below(2000));
    // As if the packet's header contained it: the receiver cannot tell the difference.
    wire::Envelope envelope = stranger.envelope();
    envelope.identification = static_cast<std::uint16_t>(prng.next());
    envelope.fragment = static_cast<std::uint16_t>(prng.chance(500) ? 0x4000 : 0);
    stranger.send(encoded(sent, envelope));
    expect_equal(pair.receive(1), {sent});
  });
  // A prediction may be right by chance.
  EXPECT_GE(pair.receivers[0]->counters().solved + 1, packets);
}

TEST(UdpReceiver, InvalidPacketsCountAgainstTheBudget) {
  UdpPair pair;
  const Stranger stranger{pair.group->port()};
  const std::vector<std::byte> noise(40, std::byte{0x3c});
  for (int i = 0; i < 500; ++i) stranger.send(noise);
  Collector collector;
  EXPECT_EQ(pair.receivers[0]->receive(collector, 100, Time{}), 0U);
  const std::uint64_t seen = UdpPair::seen(*pair.receivers[0]);
  EXPECT_GE(seen, 100U);
  EXPECT_LE(seen, 132U);
  EXPECT_EQ(collector.deliveries, 0U);
}

TEST(UdpReceiver, RandomPacketsAreHarmless) {
  UdpPair pair;
  const Stranger stranger{pair.group->port()};
  Prng prng{9};
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes(prng.below(200));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
    if (prng.chance(300)) {  // as trains that the kernel splits anywhere
      const int cut = static_cast<int>(4 + prng.below(60));
      (void)stranger.socket().set(IPPROTO_UDP, 103 /* UDP_SEGMENT */, cut);
    }
    stranger.send(bytes);
    if (i % 50 == 0) {
      Collector collector;
      pair.receivers[0]->receive(collector, 10'000, Time{});
    }
  }
  const UdpReceiverCounters& counters = pair.receivers[0]->counters();
  EXPECT_GT(counters.bad_icrc, 1000U);
  EXPECT_LE(counters.packets, 2U);  // by chance, one in 32 768
}

TEST(UdpReceiver, DeliversInBatches) {
  UdpPair pair;
  Prng prng{2};
  const wire::Flow flow{.source = kHere4, .destination = kHere4};
  pair.send(std::vector<Sample>(200, random_sample(prng, flow, kSendOnly, 8)));
  Collector collector;
  while (collector.got.size() < 200) pair.receivers[0]->receive(collector, 1000, Time{});
  EXPECT_LE(collector.deliveries, 10U);
}

TEST(ExpectedIdentification, FollowsCountersAndRepeatedNumbers) {
  ExpectedIdentification linux_train;
  for (std::uint16_t i = 0; i < 5; ++i) {
    EXPECT_EQ(linux_train.next(), i);
    linux_train.learn(i);
  }
  ExpectedIdentification counting;
  counting.learn(0xfffe);
  EXPECT_EQ(counting.next(), 0xffff);
  counting.learn(0xffff);
  EXPECT_EQ(counting.next(), 0);
  ExpectedIdentification repeating;
  repeating.learn(0);
  repeating.learn(0);
  EXPECT_EQ(repeating.next(), 0);
  ExpectedIdentification skipping;
  skipping.learn(10);
  skipping.learn(12);
  EXPECT_EQ(skipping.next(), 14);
}

}  // namespace nerve::link
