// The cost of a simulated fabric: the permutation that other simulators are measured with (a
// three-tier fat tree of 100 Gb/s, every NIC sends 2 MB to another one, 4 KB packets, DCQCN), and a
// ring all-reduce with long-lived QPs. Each line is measured in its own process, to get its memory.
//
//   nerve_sim_bench [--largest HOSTS] [--cores N]
//
// The time is that of the CPU with one core, and elapsed time with several.
// For comparison, each line also shows the bare event wheel with as many pending events.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "sim/simulation.h"
#include "sim/topology/topologies.h"

namespace nerve::bench {
namespace {

using namespace sim;  // NOLINT(google-build-using-namespace): this is about nothing else

constexpr std::uint32_t kFlow = 2'000'000;
constexpr std::uint32_t kPacket = 4096;

std::uint32_t cores = 1;

struct Usage {
  double seconds{};
  double megabytes{};
};

Usage usage() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  const double cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now().time_since_epoch();
  return {cores == 1 ? cpu : elapsed.count(), static_cast<double>(used.ru_maxrss) / 1024};
}

// Calls back when a message was received or acknowledged.
class User final : public NicUser {
 public:
  std::function<void(NodeId at)> on_received = [](NodeId) {};
  std::uint64_t acknowledged{};

  void received(NodeId at, QpNumber, std::uint32_t) override { on_received(at); }
  void sent(NodeId, std::uint64_t) override { ++acknowledged; }
  void failed(NodeId at, QpNumber, std::string_view) override {
    std::printf("a QP of node %u failed\n", at.value());
    std::exit(1);
  }
};

Simulation fat_tree_world(std::uint32_t k) {
  SimNicConfig nics;
  nics.engine.flow_control.algorithm = nic::CcAlgorithm::kDcqcn;
  return Simulation{{.seed = 1, .post_delay = std::chrono::nanoseconds{600}, .cores = cores},
                    fat_tree(k, {}),
                    {{{}, nics, std::nullopt}}};
}

std::vector<std::uint32_t> permutation(std::uint32_t count) {
  Prng prng{7};
  std::vector<std::uint32_t> to(count);
  std::iota(to.begin(), to.end(), 0U);
  for (std::uint32_t i = count; i > 1; --i) std::swap(to[i - 1], to[prng.below(i)]);
  return to;
}

std::uint64_t hops(Simulation& world) {
  std::uint64_t all = 0;
  for (const Port& port : world.fabric().ports()) all += port.sent_packets;
  return all;
}

// Nanoseconds per event that only schedules another one, with this many pending.
double bare_wheel(std::size_t pending) {
  EventWheel<Happening> wheel;
  Prng prng{1};
  const auto ahead = [&] { return Duration{static_cast<std::int64_t>(prng.below(2'000'000))}; };
  for (std::size_t i = 0; i < pending; ++i) {
    wheel.after(ahead(), Happening::kArrive, static_cast<std::uint32_t>(i));
  }
  constexpr int kEvents = 5'000'000;
  const double before = usage().seconds;
  Event<Happening> event;
  for (int i = 0; i < kEvents && wheel.next(Time{std::chrono::hours{1}}, event); ++i) {
    wheel.after(ahead(), event.kind, event.subject, event.argument);
  }
  return (usage().seconds - before) * 1e9 / kEvents;
}

void print(const char* what, std::uint32_t hosts, std::uint64_t packets, Simulation& world,
           double seconds, std::size_t pending) {
  const auto events = static_cast<double>(world.events());
  const auto data = static_cast<double>(packets);
  const double megabytes = usage().megabytes;  // before the bare wheel allocates
  std::printf("%-12s %6u %9.0f %8.1f %7.2f %6.2f %6.0f %7.0f %7.0f %6.0f %6.0f %7.0f\n", what,
              hosts, data, events / 1e6, seconds, events / seconds / 1e6, data / seconds / 1e3,
              seconds * 1e9 / events, seconds * 1e9 / data,
              seconds * 1e9 / static_cast<double>(hops(world)), bare_wheel(pending), megabytes);
}

void run_permutation(std::uint32_t k) {
  Simulation world = fat_tree_world(k);
  const std::uint32_t hosts = k * k * k / 4;
  User user;
  world.serve(user);
  std::vector<QpNumber> qps;
  const auto to = permutation(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) {
    qps.push_back(world.join(NodeId{i}, NodeId{to[i]}).mine);
  }
  const double before = usage().seconds;
  for (std::uint32_t i = 0; i < hosts; ++i) {
    world.write(NodeId{i}, {.qp = qps[i], .bytes = kFlow, .message = i});
  }
  world.run(Time{std::chrono::microseconds{50}});
  const std::size_t pending = world.pending();
  world.run(Time{std::chrono::seconds{10}});
  CHECK(user.acknowledged == hosts);
  print("permutation", hosts, std::uint64_t{hosts} * ((kFlow + kPacket - 1) / kPacket), world,
        usage().seconds - before, pending);
}

// Every rank sends a piece to the next one, and another one each time a piece arrives: 2 (N - 1)
// pieces. QPs are created once.
void run_ring(std::uint32_t k, std::uint32_t piece) {
  Simulation world = fat_tree_world(k);
  const std::uint32_t ranks = k * k * k / 4;
  const std::uint32_t steps = 2 * (ranks - 1);
  User user;
  world.serve(user);
  std::vector<QpNumber> next;
  std::vector<std::uint32_t> sent(ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    next.push_back(world.join(NodeId{i}, NodeId{(i + 1) % ranks}).mine);
  }
  const auto send = [&](NodeId from) {
    const std::uint32_t rank = from.value();
    if (sent[rank]++ < steps) {
      world.write(from, {.qp = next[rank], .bytes = piece, .message = rank});
    }
  };
  user.on_received = send;
  const double before = usage().seconds;
  for (std::uint32_t i = 0; i < ranks; ++i) send(NodeId{i});
  world.run(Time{std::chrono::microseconds{50}});
  const std::size_t pending = world.pending();
  world.run(Time{std::chrono::seconds{10}});
  const std::uint64_t messages = std::uint64_t{ranks} * steps;
  CHECK(user.acknowledged == messages);
  print("ring", ranks, messages * ((piece + kPacket - 1) / kPacket), world,
        usage().seconds - before, pending);
}

template <class Run>
void in_a_process(Run run) {
  (void)std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    run();
    (void)std::fflush(stdout);
    ::_exit(0);
  }
  int status = -1;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
    std::printf("a run failed\n");
    std::exit(1);
  }
}

}  // namespace
}  // namespace nerve::bench

int main(int argc, char** argv) {
  // Uses huge pages, as ./nerve sim does. The allocator reads this setting when a program starts.
  if (std::getenv("GLIBC_TUNABLES") == nullptr) {
    ::setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 1);
    ::execv("/proc/self/exe", argv);
  }
  using namespace nerve::bench;  // NOLINT(google-build-using-namespace)
  std::uint32_t largest = 8192;
  for (int i = 1; i < argc; i += 2) {
    const bool has_value = i + 1 < argc;
    if (has_value && std::strcmp(argv[i], "--largest") == 0) {
      largest = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
    } else if (has_value && std::strcmp(argv[i], "--cores") == 0) {
      cores = static_cast<std::uint32_t>(std::max(1, std::atoi(argv[i + 1])));
    } else {
      std::printf("usage: ./nerve bench sim [--largest HOSTS] [--cores N]\n");
      return std::strcmp(argv[i], "--help") == 0 ? 0 : 2;
    }
  }
  std::printf("%-12s %6s %9s %8s %7s %6s %6s %7s %7s %6s %6s %7s\n", "workload", "hosts", "packets",
              "M events", "s", "M ev/s", "k pk/s", "ns/ev", "ns/pkt", "ns/hop", "wheel", "MB");
  for (const std::uint32_t k : {8U, 16U, 32U, 64U}) {
    if (k * k * k / 4 <= largest) in_a_process([&] { run_permutation(k); });
  }
  in_a_process([] { run_ring(8, 65536); });
  if (largest >= 1024) in_a_process([] { run_ring(16, 4096); });
  std::printf(
      "packets: data, without retransmissions. wheel: ns per event of the bare wheel with as many "
      "pending.\n");
}
