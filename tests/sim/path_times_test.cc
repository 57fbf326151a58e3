// Goal: the path of a job is the chain of events that it waited for, and its parts add up to its
// time. Method: a job with a chain and a branch that ends earlier.
#include "sim/host/path_times.h"

#include <gtest/gtest.h>

#include "sim/host/cluster.h"
#include "sim/topology/topologies.h"
#include "sim/workload/job.h"

namespace nerve::sim::path_times_test {
namespace {

using std::chrono::microseconds;

constexpr std::uint64_t kChainBytes = 1'000'000;

// Computes, sends within its server, then between servers; waits for that acknowledgement, sends
// once more, and is done when it arrives. A short message beside the chain must not be in the path.
class ChainJob final : public Job {
 public:
  explicit ChainJob(Cluster& cluster) : cluster_{cluster} {}

  void start() override {
    send(2, 3, 1000, kBeside);
    cluster_.after(microseconds{50}, {0, 0, 0});
  }
  void timer(const Token&) override { send(0, 1, kChainBytes, kWithin); }
  void delivered(const Token& token) override {
    if (token.argument == kWithin) send(1, 2, kChainBytes, kBetween);
    if (token.argument != kLast) return;
    ended_ = cluster_.now();
    done_ = true;
  }
  void acknowledged(const Token& token) override {
    if (token.argument == kBetween) send(2, 1, kChainBytes, kLast);
  }
  [[nodiscard]] bool done() const override { return done_; }
  [[nodiscard]] JobResult result() const override { return {}; }
  [[nodiscard]] Time ended() const { return ended_; }

 private:
  enum : std::uint32_t { kBeside, kWithin, kBetween, kLast };

  void send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint32_t name) {
    cluster_.send({PlaceId{from}, PlaceId{to}, bytes, false, {0, 0, name}});
  }

  Cluster& cluster_;
  Time ended_{};
  bool done_{};
};

}  // namespace

TEST(PathTimes, AddUpToTheTimeOfTheJob) {
  Simulation world{{.seed = 1, .post_delay = std::chrono::nanoseconds{600}},
                   star(4, {}),
                   {{FabricConfig{}, SimNicConfig{}, std::nullopt}}};
  ClusterConfig config;
  config.shape.servers = 2;
  config.shape.gpus = 2;
  config.shape.nics = 2;
  Cluster cluster{world, config};
  ChainJob job{cluster};
  cluster.add(job, {});
  world.run(Time{std::chrono::seconds{1}});
  ASSERT_TRUE(cluster.over());
  const PathTimes& path = cluster.path(0);
  EXPECT_EQ(path.compute, microseconds{50});
  EXPECT_EQ(path.server_messages, 1U);
  EXPECT_EQ(path.messages, 2U);
  EXPECT_EQ(path.acknowledgements, 1U);
  EXPECT_EQ(path.bytes, 2 * kChainBytes);
  EXPECT_EQ(path.compute + path.server + path.network, job.ended() - Time{});
  EXPECT_GT(path.server, Duration{});
  EXPECT_GT(path.network, 2 * Rate::gigabits(100).time_to_send(kChainBytes));
}

}  // namespace nerve::sim::path_times_test
