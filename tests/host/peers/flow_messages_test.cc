// Goal: lists of flows and orders arrive as they were, and nonsense is refused. Method: a pair of
// sockets, every truncation, random bytes, memory of the wrong size.
#include "host/peers/flow_messages.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "base/prng.h"
#include "tests/seeds.h"

namespace nerve::host {
namespace {

constexpr std::chrono::milliseconds kPatience{1000};

struct Sockets {
  Sockets() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    here = Descriptor{ends[0]};
    there = Descriptor{ends[1]};
  }
  Descriptor here;
  Descriptor there;
};

FlowReport flow(std::uint32_t number) {
  return {.qpn = Qpn{number},
          .peer = Qpn{0x123456},
          .source = wire::Gid::ipv4(10, 0, 0, 1),
          .destination = wire::Gid::ipv4(10, 0, 0, 2),
          .source_port = 0xc123,
          .traffic_class = 0x62,
          .bytes_sent = 1ULL << 40U,
          .packets_retransmitted = number};
}

std::optional<std::vector<FlowReport>> pass_on(std::span<const FlowReport> flows) {
  const Sockets sockets;
  EXPECT_TRUE(send_flows(sockets.here.get(), flows));
  const auto got = receive_message(sockets.there.get(), kPatience);
  return got ? read_flows(*got) : std::nullopt;
}

// An answer with this text and this much memory.
std::optional<std::vector<FlowReport>> read_answer(const std::string& text, std::size_t bytes) {
  const Sockets sockets;
  const auto memory = make_shared_memory(std::max<std::size_t>(bytes, 1), Others::kRead);
  const int descriptor = memory->descriptor.get();
  EXPECT_TRUE(
      send_message(sockets.here.get(), encode_answer(text), {&descriptor, bytes == 0 ? 0U : 1U}));
  const auto got = receive_message(sockets.there.get(), kPatience);
  return got ? read_flows(*got) : std::nullopt;
}

}  // namespace

TEST(FlowMessages, FlowsArriveAsTheyWere) {
  EXPECT_EQ(pass_on({}), std::vector<FlowReport>{});
  std::vector<FlowReport> flows;
  for (std::uint32_t i = 0; i < 5000; ++i) flows.push_back(flow(i));
  EXPECT_EQ(pass_on(flows), flows);
  flows.resize(kMostFlows + 10, flow(1));
  const auto got = pass_on(flows);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->size(), kMostFlows);
}

TEST(FlowMessages, InvalidListsAreRefused) {
  EXPECT_TRUE(read_answer("0", 0));
  for (const char* text : {"", "x", "-1", "1 ", "16385", "99999999999999999999", "2"}) {
    EXPECT_FALSE(read_answer(text, 64)) << text;
  }
  EXPECT_FALSE(read_answer("1", 0)) << "no memory";
  EXPECT_FALSE(read_answer("1", 64)) << "zeros are no flow";
  EXPECT_FALSE(read_answer("1", 128)) << "another size";
  FlowReport nowhere = flow(1);
  nowhere.destination = {};
  EXPECT_FALSE(pass_on({&nowhere, 1}));
}

TEST(FlowMessages, OrdersArriveAsTheyWere) {
  std::vector<SteeringOrder> orders;
  for (std::uint32_t i = 0; i < kMostOrders; ++i) {
    orders.push_back({.qpn = Qpn{i},
                      .peer = Qpn{Qpn::kMask - i},
                      .source_port = static_cast<std::uint16_t>(0xffff - i),
                      .rate_limit = ~0ULL - i});
  }
  EXPECT_EQ(decode_orders(encode_orders(orders)), orders);
  EXPECT_EQ(decode_orders(encode_orders({})), std::vector<SteeringOrder>{});
  orders.emplace_back();
  EXPECT_FALSE(decode_orders(encode_orders(orders))) << "too many";
}

TEST(FlowMessages, InvalidOrdersAreRefused) {
  const SteeringOrder order{.qpn = Qpn{1}, .peer = Qpn{2}, .source_port = 0xc000, .rate_limit = 0};
  const auto bytes = encode_orders({&order, 1});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode_orders(Bytes{bytes}.first(size)).has_value(), size == Request::kSize) << size;
  }
  auto wide = bytes;
  wide[Request::kSize] = std::byte{1};  // a QPN of 25 bits
  EXPECT_FALSE(decode_orders(wide));
  test::for_each_seed(200, [](std::uint64_t seed) {
    Prng prng{seed};
    std::vector<std::byte> noise(prng.below(2000));
    for (std::byte& byte : noise) byte = static_cast<std::byte>(prng.below(256));
    (void)decode_orders(noise);
    (void)decode_result(noise);
    (void)read_flows({.bytes = noise, .descriptors = {}});
  });
}

TEST(FlowMessages, TheResultArrivesAsItWas) {
  const SteeringResult result{.redirected = 3, .refused = ~0ULL};
  EXPECT_EQ(decode_result(encode_result(result)), result);
  EXPECT_FALSE(decode_result(encode_answer("3")));
  EXPECT_FALSE(decode_result(encode_answer("3  4")));
  EXPECT_FALSE(decode_result(encode_answer("3 4 5")));
  EXPECT_FALSE(decode_result({}));
}

}  // namespace nerve::host
