// Goal: a program without devices lists the flows of running programs and redirects them, while
// they write and without a wrong byte; and a wrong order changes nothing. Method: forked processes
// over --transport udp; a socket of another group sees the ports on the wire.
#include "host/steering.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "host/peers/inquiry.h"
#include "host/peers/membership.h"
#include "host/seal/key_file.h"
#include "host/seal/libcrypto.h"
#include "tests/host/endpoint.h"
#include "tests/host/process.h"
#include "tests/host/setting.h"
#include "wire/pcap.h"

namespace nerve::host {
namespace {

using std::chrono::seconds;
using test::Card;
using test::Endpoint;
using test::Line;
using test::Process;
using test::Setting;

constexpr std::uint32_t kBytes = 1U << 20;
constexpr seconds kPatience{5};
constexpr std::uint32_t kRounds = 40;  // more than there are send sockets

// Owns memory that peers write to, and compares it with what they say it should be.
void be_target(Line line) {
  Endpoint endpoint{kBytes};
  line.say(endpoint.card());
  endpoint.connect(line.hear<Card>());
  line.say('r');
  for (auto seed = line.hear<std::uint32_t>(); seed != 0; seed = line.hear<std::uint32_t>()) {
    bool same = true;
    {
      // Another thread of this process writes the bytes; its lock orders that and the reads.
      const Adapter::Session session{*endpoint.adapter};
      for (std::size_t i = 0; i < kBytes; ++i) {
        same = same && endpoint.memory[i] == static_cast<std::byte>(i * 7 + seed + (i >> 9U));
      }
    }
    line.say(same);
  }
}

void meet(Endpoint& endpoint, Line line) {
  const Card peer = line.hear<Card>();
  line.say(endpoint.card());
  endpoint.connect(peer);
  EXPECT_EQ(line.hear<char>(), 'r');
}

std::optional<FlowReport> flow_of(const Endpoint& from, Qpn qpn) {
  const FlowsOfHost host = list_flows(kPatience);
  const auto found = std::ranges::find(host.flows, qpn, &FlowReport::qpn);
  if (found == host.flows.end() || found->peer != Qpn{from.peer.qpn}) return std::nullopt;
  return *found;
}

void fill(Endpoint& endpoint, std::uint32_t seed) {
  for (std::size_t i = 0; i < kBytes; ++i) {
    endpoint.memory[i] = static_cast<std::byte>(i * 7 + seed + (i >> 9U));
  }
}

// A port that is free now and belongs to RoCEv2.
std::uint16_t free_port(std::uint16_t from) {
  for (std::uint16_t port = from;; ++port) {
    const auto socket = link::UdpSocket::make(link::machine_family());
    if (socket && socket->bind(link::machine_family(), port) == 0) return port;
  }
}

// The UDP source ports of the WRITEs in a capture.
std::set<std::uint16_t> ports_in(const std::string& name) {
  std::set<std::uint16_t> ports;
  std::ifstream file{name, std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  auto reader = wire::PcapReader::open(std::as_bytes(std::span{text}));
  EXPECT_TRUE(reader);
  while (reader) {
    const auto record = reader->next();
    if (!record || !*record) break;
    const Bytes bytes = (*record)->bytes;
    const std::size_t udp = bytes.empty() || bytes[0] == std::byte{0x45} ? 20 : 40;
    if (bytes.size() <= udp + 8) continue;
    const auto opcode = static_cast<wire::Opcode>(load_be<1>(bytes, udp + 8));
    const bool is_write =
        opcode == wire::opcode(wire::Transport::kRc, wire::Operation::kWriteMiddle);
    if (is_write) ports.insert(static_cast<std::uint16_t>(load_be<2>(bytes, udp)));
  }
  return ports;
}

// Writes, redirects, writes: the ports that the flow has had, and whether all bytes arrived.
void write_and_redirect(Line target) {
  Endpoint endpoint{kBytes};
  meet(endpoint, target);
  const Qpn own{endpoint.card().qpn};
  std::optional<FlowReport> flow = flow_of(endpoint, own);
  ASSERT_TRUE(flow);
  EXPECT_EQ(flow->source, endpoint.card().gid);
  EXPECT_EQ(flow->destination, endpoint.peer.gid);
  const std::uint64_t before = flow->bytes_sent;
  std::uint64_t redirected = 0;
  // Apart from those of a test that runs at the same time.
  const int first = 0xc100 + ::getpid() % 200 * 60;
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    const std::uint16_t port = free_port(static_cast<std::uint16_t>(first + round));
    fill(endpoint, round);
    ASSERT_TRUE(endpoint.post_send(nic::SendOp::kWrite, round, 0, kBytes / 2));
    const SteeringOrder order{
        .qpn = own, .peer = Qpn{endpoint.peer.qpn}, .source_port = port, .rate_limit = 0};
    redirected += steer({&order, 1}, kPatience).redirected;
    ASSERT_TRUE(endpoint.post_send(nic::SendOp::kWrite, round, kBytes / 2, kBytes / 2, kBytes / 2));
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(endpoint.next().value_or(nic::Completion{}).status, nic::WcStatus::kSuccess);
    }
    target.say(round);
    EXPECT_TRUE(target.hear<bool>()) << "a byte is wrong";
    flow = flow_of(endpoint, own);
    ASSERT_TRUE(flow);
    EXPECT_EQ(flow->source_port, port);
  }
  EXPECT_EQ(redirected, kRounds);
  EXPECT_GE(flow->bytes_sent - before, std::uint64_t{kRounds} * kBytes);
  target.say(std::uint32_t{0});
}

class Key {
 public:
  Key() : path_{testing::TempDir() + "nerve_steering_" + std::to_string(::getpid())} {
    EXPECT_EQ(make_preshared_key(**Libcrypto::load(), path_), std::nullopt);
  }
  ~Key() { std::filesystem::remove(path_); }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  [[nodiscard]] const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

}  // namespace

TEST(TwoProcessesSteering, FlowsAreRedirectedWhileTheyWrite) {
  const Setting transport{"NERVE_TRANSPORT", "udp"};
  const std::string file = testing::TempDir() + "nerve_ports_" + std::to_string(::getpid());
  {
    const Process target{[&](Line line) {
      const Setting capture{"NERVE_PCAP", file.c_str()};
      const Setting received{"NERVE_PCAP_DIRECTION", "both"};
      const Setting headers{"NERVE_PCAP_SNAP", "64"};
      be_target(line);
      std::exit(testing::Test::HasFailure() ? 1 : 0);  // which writes the capture
    }};
    const Process writer{[&](Line) { write_and_redirect(target.line()); }};
  }
  EXPECT_GE(ports_in(file).size(), kRounds) << "as the target's kernel saw them";
  std::filesystem::remove(file);
}

TEST(TwoProcessesSteering, SealedFlowsAreRedirected) {
  const Key key;
  const Setting transport{"NERVE_TRANSPORT", "udp"};
  const Setting seal{"NERVE_SEAL", "require"};
  const Setting file{"NERVE_SEAL_KEY", key.path()};
  const Process target{be_target};
  const Process writer{[&](Line) { write_and_redirect(target.line()); }};
}

TEST(TwoProcessesSteering, FlowsThroughSharedMemoryAreNotListed) {
  const Process target{be_target};
  const Process writer{[&](Line) {
    Endpoint endpoint{kBytes};
    meet(endpoint, target.line());
    EXPECT_FALSE(flow_of(endpoint, Qpn{endpoint.card().qpn}));
    target.line().say(std::uint32_t{0});
  }};
}

TEST(TwoProcessesSteering, WrongOrdersAreCountedAndChangeNothing) {
  const Setting transport{"NERVE_TRANSPORT", "udp"};
  const Process target{be_target};
  const Process writer{[&](Line) {
    Endpoint endpoint{kBytes};
    meet(endpoint, target.line());
    const Qpn own{endpoint.card().qpn};
    const Qpn peer{endpoint.peer.qpn};
    const auto before = flow_of(endpoint, own);
    ASSERT_TRUE(before);
    const std::uint32_t empty_slot = 7;
    const std::vector<SteeringOrder> orders{
        {.qpn = own, .peer = own, .source_port = 0xc123, .rate_limit = 0},
        {.qpn = own, .peer = peer, .source_port = 4791, .rate_limit = 0},
        {.qpn = own, .peer = Qpn{}, .source_port = 0xc123, .rate_limit = 1},
        {.qpn = Qpn{own.value() ^ 1U}, .peer = peer, .source_port = 0xc123, .rate_limit = 0},
        {.qpn = Qpn{empty_slot << kSlotShift},
         .peer = peer,
         .source_port = 0xc123,
         .rate_limit = 0}};
    EXPECT_EQ(steer(orders, kPatience),
              (SteeringResult{.redirected = 0, .refused = orders.size()}));
    const auto after = flow_of(endpoint, own);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->source_port, before->source_port);
    for (const ProcessReport& report : ask_processes(kPatience)) {
      if (report.pid != ::getpid()) continue;
      EXPECT_EQ(report["orders_refused"], orders.size() - 1) << "one was for nobody";
      EXPECT_EQ(report["flows_redirected"], 0U);
    }
    target.line().say(std::uint32_t{0});
  }};
}

TEST(TwoProcessesSteering, MoreOrdersThanARequestHolds) {
  const Setting transport{"NERVE_TRANSPORT", "udp"};
  const Process target{be_target};
  const Process writer{[&](Line) {
    Endpoint endpoint{kBytes};
    meet(endpoint, target.line());
    const Qpn own{endpoint.card().qpn};
    const SteeringOrder wrong{.qpn = own, .peer = own, .source_port = 0xc123, .rate_limit = 0};
    std::vector<SteeringOrder> orders(2 * kMostOrders + 1, wrong);
    orders.push_back(
        {.qpn = own, .peer = Qpn{endpoint.peer.qpn}, .source_port = 0xc123, .rate_limit = 0});
    EXPECT_EQ(steer(orders, kPatience),
              (SteeringResult{.redirected = 1, .refused = orders.size() - 1}));
    target.line().say(std::uint32_t{0});
  }};
}

}  // namespace nerve::host
