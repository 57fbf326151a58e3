// Goal: paths are measured as they are, whatever routers leave unanswered, and a lost one is
// noticed and a silent router is not taken for a loss. Method: a network that is a table of paths,
// and time that only the test advances.
#include "cli/path_prober.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace nerve::cli {
namespace {

using controller::MeasuredPath;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Moment = PathProber::Moment;

constexpr wire::Gid kHere = wire::Gid::ipv4(10, 0, 0, 1);
constexpr wire::Gid kThere = wire::Gid::ipv4(10, 0, 1, 1);

wire::Gid router(std::uint8_t number) { return wire::Gid::ipv4(10, 1, 0, number); }

Hops hops(std::initializer_list<std::uint8_t> numbers) {
  Hops all;
  for (const std::uint8_t number : numbers) {
    all.push_back(number == 0 ? wire::Gid{} : router(number));
  }
  return all;
}

// Routers answer within a millisecond, as often as they may.
class Network final : public ProbeSender {
 public:
  std::optional<int> open(const wire::Gid& source, std::uint16_t port,
                          std::uint8_t traffic_class) override {
    EXPECT_EQ(source, kHere);
    EXPECT_EQ(traffic_class, 0x62);
    if (taken.contains(port)) return std::nullopt;
    const auto same = [&](const auto& one) { return one.second == port; };
    EXPECT_TRUE(std::ranges::none_of(sockets, same)) << port << " is bound twice";
    sockets[++last_socket] = port;
    most_open = std::max(most_open, sockets.size());
    return last_socket;
  }
  void close(int socket) override { EXPECT_EQ(sockets.erase(socket), 1U); }
  void send(int socket, const wire::Gid& destination, std::uint8_t hop_limit) override {
    EXPECT_EQ(destination, kThere);
    ++sent;
    sent_from.insert(sockets.at(socket));
    const Hops& path = paths[sockets.at(socket)];
    if (hop_limit > path.size()) {
      if (destination_answers) answers.push_back({.socket = socket, .reached = true});
      return;
    }
    const wire::Gid& at = path[hop_limit - 1U];
    const bool broken = std::any_of(path.begin(), path.begin() + hop_limit,
                                    [&](const wire::Gid& one) { return dead.contains(one.bytes); });
    if (at.is_zero() || broken) return;
    if (limit && !has_token(at)) return;
    answers.push_back({.socket = socket, .hop_limit = hop_limit, .router = at});
  }

  // As Linux does: six, and then one a second.
  bool has_token(const wire::Gid& at) {
    auto [place, is_new] = tokens.try_emplace(at.bytes, now - seconds{6});
    Moment& since = place->second;
    since = std::max(since, now - seconds{6});
    if (now - since < seconds{1}) return false;
    since += seconds{1};
    return true;
  }

  std::map<std::uint16_t, Hops> paths;
  std::set<std::uint16_t> taken;
  std::set<std::array<std::byte, 16>> dead;
  bool limit{};
  bool destination_answers{};

  Moment now{seconds{1000}};
  std::map<int, std::uint16_t> sockets;
  std::map<std::array<std::byte, 16>, Moment> tokens;
  std::vector<ProbeAnswer> answers;
  std::set<std::uint16_t> sent_from;
  int last_socket{};
  std::size_t most_open{};
  std::size_t sent{};
};

struct PathProberTest : testing::Test {
  void use(std::initializer_list<std::uint16_t> ports) {
    std::vector<controller::LiveFlow> flows;
    for (const std::uint16_t port : ports) {
      flows.push_back(
          {.source = kHere, .destination = kThere, .port = port, .traffic_class = 0x62});
    }
    prober.use(flows, network.now);
  }
  void measure(std::vector<std::uint16_t> ports) {
    prober.measure({.source = kHere, .destination = kThere, .ports = std::move(ports)},
                   network.now);
  }
  // Lets time pass. What was measured is kept by port.
  void run(std::chrono::milliseconds time) {
    const Moment end = network.now + time;
    for (;;) {
      while (!network.answers.empty()) {
        const ProbeAnswer answer = network.answers.front();
        network.answers.erase(network.answers.begin());
        network.now += std::chrono::microseconds{10};
        prober.answered(answer, network.now);
      }
      for (MeasuredPath& path : prober.take_measured(3)) {
        EXPECT_EQ(path.source, kHere);
        EXPECT_EQ(path.destination, kThere);
        ++told[path.port];
        measured[path.port] = std::move(path);
      }
      if (prober.any_measured()) continue;
      const Moment next = std::max(prober.next_deadline(), network.now);
      if (next > end) break;
      network.now = next;
      prober.expire(next);
    }
    network.now = end;
  }
  void forget() {
    told.clear();
    measured.clear();
  }

  Network network;
  PathProber prober{network};
  std::map<std::uint16_t, MeasuredPath> measured;
  std::map<std::uint16_t, int> told;
};

TEST_F(PathProberTest, FindsTheRoutersOfEachPort) {
  use({50'000});
  network.paths = {{50'001, hops({1, 2, 4})}, {50'002, hops({1, 3, 4})}, {50'003, hops({1})}};
  measure({50'001, 50'002});
  run(seconds{1});
  EXPECT_EQ(measured.size(), 2U);
  measure({50'003});
  run(seconds{40});  // others had answers behind its last router
  ASSERT_EQ(measured.size(), 3U);
  for (const auto& [port, path] : measured) {
    EXPECT_EQ(path.hops, network.paths[port]) << port;
    EXPECT_FALSE(path.lost);
    EXPECT_EQ(told[port], 1);
  }
  EXPECT_TRUE(network.sockets.empty()) << "all ports are free again";
}

TEST_F(PathProberTest, EndsAtOnceWhereTheDestinationAnswers) {
  use({50'000});
  network.paths = {{50'001, hops({1, 2})}};
  network.destination_answers = true;
  measure({50'001});
  run(milliseconds{1});
  EXPECT_EQ(measured[50'001].hops, hops({1, 2}));
}

TEST_F(PathProberTest, WaitsForRoutersThatLimitTheirAnswers) {
  use({50'000});
  network.limit = true;
  std::vector<std::uint16_t> ports;
  for (std::uint16_t port = 51'000; port < 51'016; ++port) {
    const bool even = port % 2 == 0;
    network.paths[port] = even ? hops({1, 2, 4}) : hops({1, 3, 4});
    ports.push_back(port);
  }
  measure(ports);
  run(seconds{60});
  ASSERT_EQ(measured.size(), ports.size());
  for (const auto& [port, path] : measured) EXPECT_EQ(path.hops, network.paths[port]) << port;
}

TEST_F(PathProberTest, ARouterThatNeverAnswersHasNoAddress) {
  use({50'000});
  network.paths = {{50'001, hops({1, 2, 4})}, {50'002, hops({1, 0, 4})}};
  measure({50'001});
  run(seconds{1});
  measure({50'002});
  run(seconds{30});
  EXPECT_EQ(measured[50'002].hops, hops({1, 0, 4}));
  use({50'002});
  forget();
  run(seconds{60});
  EXPECT_TRUE(measured.empty()) << "nothing has changed";
}

TEST_F(PathProberTest, LeavesPortsAloneThatSomebodyHas) {
  use({50'000});
  network.paths = {{50'000, hops({1})}, {50'001, hops({1})}, {50'002, hops({1})}};
  network.taken = {50'001};
  measure({50'000, 50'001, 50'002});
  run(seconds{2});
  EXPECT_EQ(measured.size(), 1U);
  EXPECT_TRUE(measured.contains(50'002));
}

TEST_F(PathProberTest, ReleasesAPortForAProgram) {
  use({50'000});
  network.paths = {{50'001, hops({})}, {50'002, hops({})}};
  measure({50'001, 50'002});
  EXPECT_EQ(network.sockets.size(), 2U);
  prober.release(50'001);
  EXPECT_EQ(network.sockets.size(), 1U);
  run(seconds{1});
  EXPECT_FALSE(measured.contains(50'001));
  EXPECT_TRUE(measured.contains(50'002));
}

TEST_F(PathProberTest, ProbesOnlyBetweenAddressesOfFlows) {
  measure({50'001});
  EXPECT_EQ(network.sent, 0U);
  use({50'000});
  prober.measure({.source = kHere, .destination = kHere, .ports = {50'001}}, network.now);
  EXPECT_EQ(network.sent, 0U);
}

TEST_F(PathProberTest, ProbesABoundedNumberOfPortsAtATime) {
  use({50'000});
  for (int round = 0; round < 40; ++round) {
    std::vector<std::uint16_t> ports;
    for (int i = 0; i < 256; ++i)
      ports.push_back(static_cast<std::uint16_t>(50'001 + round * 256 + i));
    measure(ports);
  }
  run(seconds{60});
  EXPECT_EQ(network.most_open, PathProber::kParallel);
  EXPECT_LE(measured.size(), PathProber::kMostWaiting + PathProber::kParallel);
}

// Twenty ports by two paths, one of which is in use.
struct LostPathTest : PathProberTest {
  LostPathTest() {
    use({50'000});
    std::vector<std::uint16_t> ports;
    for (std::uint16_t port = 50'001; port <= 50'020; ++port) {
      network.paths[port] = port % 2 == 0 ? hops({1, 2, 4}) : hops({1, 3, 4});
      ports.push_back(port);
    }
    measure(ports);
  }
};

TEST_F(LostPathTest, IsReportedForAllItsPorts) {
  run(seconds{1});
  ASSERT_EQ(measured.size(), 20U);
  use({50'002});
  forget();
  run(seconds{25});
  EXPECT_TRUE(measured.empty()) << "paths that are as they were are no news";
  EXPECT_FALSE(network.sent_from.contains(50'000));

  network.dead = {router(2).bytes};
  run(milliseconds{1500});
  ASSERT_EQ(measured.size(), 10U);
  for (const auto& [port, path] : measured) {
    EXPECT_EQ(port % 2, 0);
    EXPECT_TRUE(path.lost);
    EXPECT_EQ(path.hops, hops({1, 2, 4})) << "what it was";
    EXPECT_EQ(told[port], 1);
  }
  // The flow gets another port.
  use({50'003});
  forget();
  network.dead.clear();
  run(seconds{3});
  ASSERT_EQ(measured.size(), 10U) << "it is back";
  for (const auto& [port, path] : measured) EXPECT_FALSE(path.lost);
}

TEST_F(LostPathTest, IsNoticedSoonerWhenPacketsAreLost) {
  run(seconds{1});
  use({50'002});
  run(milliseconds{1050});
  forget();
  network.dead = {router(2).bytes};
  prober.hurry();
  run(milliseconds{450});
  EXPECT_EQ(measured.size(), 10U);
}

TEST_F(LostPathTest, IsNotOneWhoseRouterLimitsItsAnswers) {
  network.limit = true;
  run(seconds{60});
  ASSERT_EQ(measured.size(), 20U);
  use({50'002, 50'003});
  forget();
  run(std::chrono::minutes{5});
  for (const auto& [port, path] : measured) EXPECT_FALSE(path.lost) << port;
  network.dead = {router(2).bytes};
  run(seconds{30});
  EXPECT_TRUE(measured[50'002].lost);
  EXPECT_FALSE(measured[50'003].lost);
}

TEST_F(LostPathTest, IsMeasuredAnewWhenRoutersChooseAnother) {
  run(seconds{1});
  use({50'002});
  forget();
  for (std::uint16_t port = 50'002; port <= 50'020; port += 2) {
    network.paths[port] = hops({1, 5, 4});
  }
  run(seconds{15});
  EXPECT_EQ(measured.size(), 9U) << "all but the one in use, which cannot be measured";
  for (const auto& [port, path] : measured) EXPECT_EQ(path.hops, hops({1, 5, 4})) << port;
}

}  // namespace
}  // namespace nerve::cli
