// A simulation with messages, for tests: from where to where, how many bytes, and when they
// arrived.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "sim/simulation.h"

namespace nerve::sim::test {

struct SentMessage {
  NodeId from{};
  NodeId to{};
  std::uint32_t bytes{};
  QpNumber qp{};  // of the sender
  Time received{};
  Time acknowledged{};
  bool failed{};  // its QP is in the error state
};

struct Totals {
  std::uint64_t dropped{};
  std::uint64_t lost{};
  std::uint64_t pauses{};
  std::uint64_t marked{};
};

class Traffic final : private NicUser {
 public:
  Traffic(const Graph& graph, const std::vector<FabricConfig>& networks,
          const SimNicConfig& nics = {}, std::uint64_t seed = 1);
  Traffic(const Graph& graph, const FabricConfig& fabric, const SimNicConfig& nics = {},
          std::uint64_t seed = 1)
      : Traffic{graph, std::vector<FabricConfig>{fabric}, nics, seed} {}
  Traffic(const Graph& graph, const SimulatedNetwork& network, std::uint64_t seed = 1);
  Traffic(const Graph& graph, const std::vector<SimulatedNetwork>& networks,
          std::uint64_t seed = 1);

  // All messages start at time zero, each on its own QP.
  void add(NodeId from, NodeId to, std::uint32_t bytes);
  // On an existing QP.
  void add_on(NodeId from, QpNumber qp, NodeId to, std::uint32_t bytes);
  // Schedules faults; fails the test if the graph has no such cable.
  void schedule(const std::vector<FaultSpec>& faults);
  // Permits messages to fail with an error, because their NIC is isolated.
  void may_fail() { may_fail_ = true; }
  // Runs to the end. Fails the test when a message is missing, a packet is left over, or bytes sent
  // by a port were neither received, dropped nor lost.
  void run();

  [[nodiscard]] const std::vector<SentMessage>& messages() const { return messages_; }
  [[nodiscard]] Time last_received() const;
  [[nodiscard]] Totals totals();
  [[nodiscard]] Simulation& world() { return world_; }

 private:
  void expect_conserved();
  void received(NodeId at, QpNumber qp, std::uint32_t immediate) override;
  void sent(NodeId from, std::uint64_t message) override;
  void failed(NodeId at, QpNumber qp, std::string_view why) override;

  Simulation world_;
  std::vector<SentMessage> messages_;
  bool may_fail_{};
};

}  // namespace nerve::sim::test
