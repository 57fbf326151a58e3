// Goal: real routers answer the prober's datagrams, each port takes the path that it was measured
// to take, and a path that drops packets is found lost. Method: four network namespaces, two links
// between the routers in the middle. Only as root.
#include "cli/probe_sockets.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <map>
#include <string>

namespace nerve::cli::probe_sockets_test {
namespace {

using std::chrono::milliseconds;
using Clock = PathProber::Clock;

constexpr int kNoNetwork = 77;
constexpr wire::Gid kHere = wire::Gid::ipv4(10, 91, 0, 1);
constexpr wire::Gid kThere = wire::Gid::ipv4(10, 91, 20, 1);
constexpr wire::Gid kFirst = wire::Gid::ipv4(10, 91, 0, 2);
constexpr wire::Gid kByOneLink = wire::Gid::ipv4(10, 91, 10, 2);
constexpr wire::Gid kByTheOther = wire::Gid::ipv4(10, 91, 11, 2);

// A process that keeps a network namespace until this one ends.
class Namespace {
 public:
  Namespace() {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const char made = ::unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
      (void)!::write(ready[1], &made, 1);
      for (;;) ::pause();
    }
    char made = 'n';
    (void)!::read(ready[0], &made, 1);
    made_ = made == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Namespace() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;

  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] std::string pid() const { return std::to_string(pid_); }
  [[nodiscard]] bool run(const std::string& commands) const {
    return std::system(
               ("nsenter -t " + pid() + " -n sh -ec '" + commands + "' 2>/dev/null").c_str()) == 0;
  }

 private:
  pid_t pid_{};
  bool made_{};
};

constexpr const char* kRouter =
    "echo 1 > /proc/sys/net/ipv4/ip_forward; "
    "echo 1 > /proc/sys/net/ipv4/fib_multipath_hash_policy; "
    "echo 1 > /proc/sys/net/ipv4/icmp_errors_use_inbound_ifaddr; "
    "echo 0 > /proc/sys/net/ipv4/icmp_ratelimit; ip link set lo up; ";

struct Network {
  Namespace near, far, there;

  [[nodiscard]] bool build() const {
    const auto here = [](const std::string& commands) {
      return std::system(("sh -ec '" + commands + "' 2>/dev/null").c_str()) == 0;
    };
    return near.made() && far.made() && there.made() &&
           here("ip link add a0 type veth peer name a1 netns " + near.pid() +
                "; ip link set lo up; ip link set a0 up; ip address add 10.91.0.1/24 dev a0; "
                "ip route add default via 10.91.0.2") &&
           near.run(std::string{kRouter} + "ip link add x0 type veth peer name y0 netns " +
                    far.pid() + "; ip link add x1 type veth peer name y1 netns " + far.pid() +
                    "; ip address add 10.91.0.2/24 dev a1; ip address add 10.91.10.1/30 dev x0; "
                    "ip address add 10.91.11.1/30 dev x1; "
                    "for i in a1 x0 x1; do ip link set $i up; done") &&
           far.run(std::string{kRouter} + "ip link add b0 type veth peer name b1 netns " +
                   there.pid() +
                   "; ip address add 10.91.20.2/24 dev b0; ip address add 10.91.10.2/30 dev y0; "
                   "ip address add 10.91.11.2/30 dev y1; "
                   "for i in b0 y0 y1; do ip link set $i up; done; ip route add 10.91.0.0/24 "
                   "nexthop via 10.91.10.1 nexthop via 10.91.11.1") &&
           near.run("ip route add 10.91.20.0/24 nexthop via 10.91.10.2 nexthop via 10.91.11.2") &&
           there.run(
               "ip address add 10.91.20.1/24 dev b1; ip link set b1 up; ip link set lo up; "
               "ip route add default via 10.91.20.2");
  }
};

using Paths = std::map<std::uint16_t, controller::MeasuredPath>;

void run(PathProber& prober, ProbeSockets& sockets, milliseconds time, Paths& paths) {
  const auto end = Clock::now() + time;
  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    prober.expire(now);
    std::vector<pollfd> waiting;
    sockets.add_to(waiting);
    (void)::poll(waiting.data(), waiting.size(), 5);
    for (const int socket : sockets.sockets()) {
      while (const auto answer = ProbeSockets::receive(socket)) {
        prober.answered(*answer, Clock::now());
      }
    }
    for (auto& path : prober.take_measured(1000)) paths[path.port] = path;
  }
}

void measure_and_lose(const Network& network) {
  ProbeSockets sockets{4791};
  PathProber prober{sockets};
  std::vector<controller::LiveFlow> flows{
      {.source = kHere, .destination = kThere, .port = 0xc000, .traffic_class = 2}};
  prober.use(flows, Clock::now());
  controller::ProbeOrder order{.source = kHere, .destination = kThere, .ports = {}};
  for (std::uint16_t port = 0xc001; port <= 0xc040; ++port) order.ports.push_back(port);
  prober.measure(order, Clock::now());
  Paths paths;
  run(prober, sockets, milliseconds{1500}, paths);
  ASSERT_EQ(paths.size(), order.ports.size());
  std::map<wire::Gid, std::vector<std::uint16_t>, bool (*)(const wire::Gid&, const wire::Gid&)>
      by_link{[](const wire::Gid& a, const wire::Gid& b) { return a.bytes < b.bytes; }};
  for (const auto& [port, path] : paths) {
    ASSERT_EQ(path.hops.size(), 2U) << port;
    EXPECT_EQ(path.hops[0], kFirst);
    by_link[path.hops[1]].push_back(port);
  }
  ASSERT_EQ(by_link.size(), 2U);
  ASSERT_TRUE(by_link.contains(kByOneLink) && by_link.contains(kByTheOther));

  // The same ports take the same paths again.
  const Paths before = paths;
  paths.clear();
  prober.measure(order, Clock::now());
  run(prober, sockets, milliseconds{1500}, paths);
  EXPECT_EQ(paths, before);

  // Frames on one link go to nobody; its routers see no failure.
  flows.push_back(flows[0]);
  flows[0].port = by_link[kByOneLink][0];
  flows[1].port = by_link[kByTheOther][0];
  prober.use(flows, Clock::now());
  paths.clear();
  ASSERT_TRUE(network.near.run("ip neigh replace 10.91.10.2 lladdr 02:00:00:00:00:99 dev x0"));
  run(prober, sockets, milliseconds{3000}, paths);
  for (const std::uint16_t port : by_link[kByOneLink]) EXPECT_TRUE(paths[port].lost) << port;
  for (const std::uint16_t port : by_link[kByTheOther]) EXPECT_FALSE(paths.contains(port)) << port;
  ASSERT_TRUE(network.near.run("ip neigh del 10.91.10.2 dev x0"));
  run(prober, sockets, milliseconds{3000}, paths);
  for (const std::uint16_t port : by_link[kByOneLink]) EXPECT_FALSE(paths[port].lost) << port;
}

}  // namespace

TEST(ProbeSockets, SeeTheRoutersOfEachPort) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() != 0 || ::unshare(CLONE_NEWNET) != 0) ::_exit(kNoNetwork);
    {
      const Network network;
      if (!network.build()) ::_exit(kNoNetwork);
      measure_and_lose(network);
    }
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNetwork) {
    GTEST_SKIP() << "no network namespaces here, or not root";
  }
  EXPECT_EQ(status, 0);
}

TEST(ProbeSockets, LeaveAPortAloneThatIsBound) {
  ProbeSockets sockets{4791};
  const wire::Gid loopback = wire::Gid::ipv4(127, 0, 0, 1);
  std::uint16_t port = 0xd000;
  std::optional<int> open;
  while (!(open = sockets.open(loopback, port, 0))) ++port;
  EXPECT_FALSE(sockets.open(loopback, port, 0));
  sockets.close(*open);
  EXPECT_TRUE(sockets.open(loopback, port, 0));
  EXPECT_FALSE(sockets.open(wire::Gid::ipv4(192, 0, 2, 1), port, 0)) << "not an address of ours";
}

}  // namespace nerve::cli::probe_sockets_test
