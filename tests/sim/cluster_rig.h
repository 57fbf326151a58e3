// A small cluster with messages, for tests: records what is reported to the job, and when.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/host/cluster.h"
#include "sim/workload/job.h"

namespace nerve::sim::test {

// Messages are identified by the argument of their token.
class RecordingJob final : public Job {
 public:
  explicit RecordingJob(std::uint32_t expected) : expected_{expected} {}

  void start() override {}
  void delivered(const Token& token) override {
    EXPECT_TRUE(delivered_.emplace(token.argument, now()).second) << "delivered twice";
  }
  void acknowledged(const Token& token) override {
    EXPECT_TRUE(acknowledged_.emplace(token.argument, now()).second) << "acknowledged twice";
    EXPECT_TRUE(delivered_.contains(token.argument)) << "acknowledged before it was delivered";
  }
  void timer(const Token& token) override { timers_.emplace(token.argument, now()); }
  void failed(const Token& token) override { failed_.push_back(token.argument); }
  [[nodiscard]] bool done() const override {
    return delivered_.size() == expected_ && acknowledged_.size() == expected_;
  }
  [[nodiscard]] JobResult result() const override { return {}; }

  void use(const Messenger& messenger) { messenger_ = &messenger; }
  [[nodiscard]] Time now() const { return messenger_->now(); }
  [[nodiscard]] Time delivered_at(std::uint32_t message) const { return delivered_.at(message); }
  [[nodiscard]] Time timer_at(std::uint32_t timer) const { return timers_.at(timer); }
  [[nodiscard]] const std::vector<std::uint32_t>& failed_messages() const { return failed_; }
  [[nodiscard]] std::size_t deliveries() const { return delivered_.size(); }

 private:
  std::uint32_t expected_;
  const Messenger* messenger_{};
  std::map<std::uint32_t, Time> delivered_;
  std::map<std::uint32_t, Time> acknowledged_;
  std::map<std::uint32_t, Time> timers_;
  std::vector<std::uint32_t> failed_;
};

class ClusterRig {
 public:
  ClusterRig(const Graph& graph, const std::vector<SimulatedNetwork>& networks,
             const ClusterConfig& config, std::uint32_t messages)
      : job{messages}, world{{.seed = 1}, graph, networks}, cluster{world, config} {
    job.use(cluster);
    cluster.add(job, {});
  }

  void send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, bool on_front_end = false) {
    cluster.send({PlaceId{from}, PlaceId{to}, bytes, on_front_end, {0, 0, next_++}});
  }
  // Runs until the job is over, then until no event is left.
  void run() {
    world.run(Time{std::chrono::seconds{10}});
    over = cluster.over();
    world.run(Time{std::chrono::seconds{20}});
    EXPECT_EQ(world.packets_in_use(), 0U);
  }
  [[nodiscard]] double microseconds(std::uint32_t message) const {
    return static_cast<double>(job.delivered_at(message).picoseconds()) / 1e6;
  }

  RecordingJob job;
  Simulation world;
  Cluster cluster;
  bool over{};

 private:
  std::uint32_t next_{};
};

}  // namespace nerve::sim::test
