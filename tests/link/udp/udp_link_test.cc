// Goal: what is sent arrives, over real sockets. Method: frames of every opcode, size and mix over
// loopback, with and without each offload; contents are compared, not counts.
#include <gtest/gtest.h>

#include "tests/link/udp/udp_pair.h"
#include "tests/seeds.h"
#include "wire/opcode.h"

namespace nerve::link {
namespace {

std::vector<wire::Flow> flows() {
  std::vector<wire::Flow> flows{{.source = kHere4, .destination = kThere4}};
  if (machine_has_ipv6_loopback()) flows.push_back({.source = kHere6, .destination = kHere6});
  return flows;
}

std::vector<PairConfig> configs() {
  return {{},
          {.segmentation = false},
          {.coalescing = false},
          {.segmentation = false, .coalescing = false}};
}

std::vector<wire::Opcode> known_opcodes() {
  std::vector<wire::Opcode> opcodes;
  for (unsigned code = 0; code < 256; ++code) {
    if (wire::find_opcode(static_cast<std::uint8_t>(code)) != nullptr) {
      opcodes.push_back(static_cast<wire::Opcode>(code));
    }
  }
  return opcodes;
}

// A train of equal packets; the last may be shorter.
std::vector<Sample> train(Prng& prng, const wire::Flow& flow, std::size_t packets,
                          std::size_t length, std::size_t last) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < packets; ++i) {
    samples.push_back(random_sample(prng, flow, kSendMiddle, i + 1 < packets ? length : last));
  }
  return samples;
}

}  // namespace

TEST(UdpLink, CarriesEveryOpcodeAndPad) {
  UdpPair pair;
  Prng prng{1};
  for (const wire::Flow& flow : flows()) {
    std::vector<Sample> sent;
    for (const wire::Opcode opcode : known_opcodes()) {
      sent.push_back(random_sample(prng, flow, opcode, prng.below(40)));
    }
    pair.send(sent);
    expect_equal(pair.receive(sent.size()), sent);
  }
  EXPECT_EQ(pair.receivers[0]->counters().bad_icrc, 0U);
  // The prediction is right for our own packets.
  EXPECT_EQ(pair.receivers[0]->counters().solved, 0U);
}

TEST(UdpLink, CarriesTrainsWithAndWithoutOffloads) {
  for (const PairConfig& config : configs()) {
    UdpPair pair{config};
    Prng prng{2};
    for (const wire::Flow& flow : flows()) {
      const auto sent = train(prng, flow, 40, 1024, 7);
      pair.send(sent);
      expect_equal(pair.receive(sent.size()), sent);
      const auto large = train(prng, flow, 33, 4096, 4096);  // more than fits in one message
      pair.send(large);
      expect_equal(pair.receive(large.size()), large);
      const auto small = train(prng, flow, 200, 8, 8);
      pair.send(small);
      expect_equal(pair.receive(small.size()), small);
    }
    EXPECT_EQ(pair.receivers[0]->counters().bad_icrc, 0U);
    EXPECT_EQ(pair.sender->counters().trains > 0, config.segmentation);
    EXPECT_EQ(pair.sender->segmentation().works, config.segmentation);
    EXPECT_EQ(pair.receivers[0]->coalescing().works, config.coalescing);
  }
}

TEST(UdpLink, CarriesMixedBursts) {
  const auto opcodes = known_opcodes();
  test::for_each_seed(30, [&](std::uint64_t seed) {
    Prng prng{seed};
    UdpPair pair{configs()[prng.below(configs().size())]};
    for (int bursts = 0; bursts < 3; ++bursts) {
      std::vector<Sample> sent;
      for (int runs = 0; runs < 4; ++runs) {
        wire::Flow flow = flows()[prng.below(flows().size())];
        flow.source_port = 0xc123;  // one socket, so that the order is kept
        flow.traffic_class = static_cast<std::uint8_t>(prng.next());
        flow.hop_limit = static_cast<std::uint8_t>(1 + prng.below(255));
        const wire::Opcode opcode = opcodes[prng.below(opcodes.size())];
        const bool large = prng.chance(300);
        const std::size_t length = prng.below(large ? 4097 : 70);
        // At most what the smallest usual receive buffer holds.
        for (std::size_t i = 1 + prng.below(large ? 8 : 30); i-- > 0;) {
          sent.push_back(random_sample(prng, flow, opcode, length));
        }
      }
      pair.send(sent);
      expect_equal(pair.receive(sent.size()), sent);
    }
    EXPECT_EQ(pair.receivers[0]->counters().bad_icrc, 0U);
  });
}

TEST(UdpLink, CarriesEcnBothWays) {
  UdpPair pair;
  Prng prng{3};
  for (wire::Flow flow : flows()) {
    std::vector<Sample> sent;
    for (const auto ecn : {wire::Ecn::kNotCapable, wire::Ecn::kCapable0, wire::Ecn::kCongestion}) {
      flow.traffic_class = 0xb8;
      flow.set_ecn(ecn);
      sent.push_back(random_sample(prng, flow, kSendOnly, 8));
    }
    pair.send(sent);
    expect_equal(pair.receive(sent.size()), sent);
  }
}

TEST(UdpLink, WorksWithoutIpv6) {
  UdpPair pair{{.ipv6 = false}};
  Prng prng{4};
  const auto sent = train(prng, flows()[0], 20, 256, 9);
  pair.send(sent);
  expect_equal(pair.receive(sent.size()), sent);
  const wire::Flow six{.source = kHere6, .destination = kHere6};
  pair.send({random_sample(prng, six, kSendOnly, 8)});
  EXPECT_EQ(pair.sender->counters().dropped_unreachable, 1U);
}

TEST(UdpLink, GathersPiecesAndReadsThroughPorts) {
  struct Port final : MemoryPort {
    void read(std::uint64_t address, MutableBytes into) override {
      for (std::byte& byte : into) byte = static_cast<std::byte>(address++);
    }
    void write(std::uint64_t, Bytes) override {}
    std::uint64_t compare_swap(std::uint64_t, std::uint64_t, std::uint64_t) override { return 0; }
    std::uint64_t fetch_add(std::uint64_t, std::uint64_t) override { return 0; }
    void store_word(std::uint64_t, std::uint64_t) override {}
  } port;
  UdpPair pair;
  for (const std::uint32_t length : {20U, 2000U}) {
    const std::vector<std::byte> own(length, std::byte{0x55});
    const std::array<wire::Piece, 3> pieces{{
        {.address = 3, .length = length, .port = &port},
        {.address = reinterpret_cast<std::uint64_t>(own.data()), .length = length},
        {.address = 9, .length = 4, .port = &port},
    }};
    wire::Frame frame{.flow = flows()[0], .payload = pieces, .payload_length = 2 * length + 4};
    frame.headers.bth.opcode = kSendOnly;
    pair.sender->send({&frame, 1}, Time{});
    const auto got = pair.receive(1);
    ASSERT_EQ(got.size(), 1U);
    std::vector<std::byte> want(frame.payload_length);
    port.read(3, MutableBytes{want}.first(length));
    std::ranges::copy(own, want.begin() + length);
    port.read(9, MutableBytes{want}.last(4));
    EXPECT_EQ(got[0].payload, want);
  }
}

TEST(UdpLink, ReceivesWithinTheBudget) {
  UdpPair pair{{.segmentation = false, .coalescing = false}};
  Prng prng{5};
  pair.send(train(prng, flows()[0], 200, 8, 8));
  Collector collector;
  const std::size_t got = pair.receivers[0]->receive(collector, 10, Time{});
  EXPECT_GE(got, 10U);
  EXPECT_LE(got, 42U);  // one more read, which returns no more than it asked for
  EXPECT_EQ(collector.got.size(), got);
  EXPECT_EQ(pair.receivers[0]->receive(collector, 0, Time{}), 0U);
}

// The kernel reports twice the requested size.
TEST(Offloads, SocketsHaveTheRequestedOptions) {
  constexpr int kBuffer = 64 << 10;
  const auto group = PortGroup::create(
      {.port = 0, .sockets = 1, .wishes = {.buffer = kBuffer, .coalescing = false}});
  ASSERT_TRUE(group) << group.error().text;
  const UdpReceiver receiver{*group, 0};
  EXPECT_EQ(receiver.buffer(), 2 * kBuffer);
  EXPECT_FALSE(receiver.coalescing().works);
  const auto sender = UdpSender::open({.family = group->family(), .buffer = kBuffer});
  ASSERT_TRUE(sender) << sender.error().text;
  EXPECT_EQ((*sender)->buffer(), 2 * kBuffer);
  set_receive_wishes(group->socket(0), {});
  EXPECT_GT(receiver.buffer(), 2 * kBuffer);
}

// Probed on their own sockets, the offloads are the same as on a link.
TEST(Offloads, ProbesAgreeWithALink) {
  UdpPair pair;
  Prng prng{6};
  pair.send(train(prng, flows()[0], 3, 8, 8));
  const Offloads probed = probe_offloads();
  EXPECT_EQ(probed.segmentation.works, pair.sender->segmentation().works);
  EXPECT_EQ(probed.receive_coalescing.works, pair.receivers[0]->coalescing().works);
  EXPECT_EQ(probed.ipv6.works, pair.group->family() == IpFamily::kDual);
  EXPECT_EQ(probed.send_buffer, pair.sender->buffer());
  EXPECT_EQ(probed.receive_buffer, pair.receivers[0]->buffer());
  for (const Offload* offload : {&probed.segmentation, &probed.receive_coalescing, &probed.ipv6}) {
    EXPECT_EQ(offload->works, offload->reason.empty());
  }
}

}  // namespace nerve::link
