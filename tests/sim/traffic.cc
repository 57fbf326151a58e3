#include "tests/sim/traffic.h"

#include <algorithm>
#include <map>

namespace nerve::sim::test {
namespace {

std::vector<SimulatedNetwork> alike(const std::vector<FabricConfig>& fabrics,
                                    const SimNicConfig& nics) {
  std::vector<SimulatedNetwork> networks;
  for (const FabricConfig& fabric : fabrics) networks.push_back({fabric, nics, std::nullopt});
  return networks;
}

}  // namespace

Traffic::Traffic(const Graph& graph, const std::vector<FabricConfig>& networks,
                 const SimNicConfig& nics, std::uint64_t seed)
    : Traffic{graph, alike(networks, nics), seed} {}

Traffic::Traffic(const Graph& graph, const SimulatedNetwork& network, std::uint64_t seed)
    : Traffic{graph, std::vector<SimulatedNetwork>{network}, seed} {}

Traffic::Traffic(const Graph& graph, const std::vector<SimulatedNetwork>& networks,
                 std::uint64_t seed)
    : world_{{.seed = seed}, graph, networks} {
  world_.serve(*this);
}

void Traffic::received(NodeId at, QpNumber, std::uint32_t immediate) {
  EXPECT_EQ(messages_[immediate].to, at);
  messages_[immediate].received = world_.now();
}

void Traffic::sent(NodeId from, std::uint64_t message) {
  EXPECT_EQ(messages_[message].from, from);
  messages_[message].acknowledged = world_.now();
}

void Traffic::failed(NodeId at, QpNumber qp, std::string_view why) {
  for (SentMessage& message : messages_) message.failed |= message.from == at && message.qp == qp;
  if (may_fail_) return;
  ADD_FAILURE() << "node " << at.value() << ", QP " << qp.value() << ": " << why;
}

void Traffic::add(NodeId from, NodeId to, std::uint32_t bytes) {
  add_on(from, world_.join(from, to).mine, to, bytes);
}

void Traffic::add_on(NodeId from, QpNumber qp, NodeId to, std::uint32_t bytes) {
  const auto number = static_cast<std::uint32_t>(messages_.size());
  messages_.push_back({.from = from, .to = to, .bytes = bytes});
  messages_.back().qp = qp;
  world_.write(from, {qp, bytes, number, number});
}

void Traffic::schedule(const std::vector<FaultSpec>& faults) {
  auto found = Faults::find(world_.fabric().graph(), faults);
  ASSERT_TRUE(found) << found.error();
  world_.schedule(*std::move(found));
}

void Traffic::run() {
  world_.run(Time{std::chrono::seconds{10}});
  for (const SentMessage& message : messages_) {
    if (message.failed) continue;  // failed() has checked that this is permitted
    EXPECT_GT(message.received, Time{})
        << "from " << message.from.value() << " to " << message.to.value();
    // A TCP sender may have the acknowledgement before the receiving application has the message.
    const bool engine = world_.find_nic(message.from) != nullptr;
    EXPECT_GT(message.acknowledged, engine ? message.received : Time{});
  }
  EXPECT_EQ(world_.packets_in_use(), 0U);
  expect_conserved();
}

// At every switch: bytes sent to it, minus those lost on cables, equal bytes sent plus bytes
// dropped.
void Traffic::expect_conserved() {
  std::map<std::uint32_t, std::int64_t> held;
  for (const Port& port : world_.fabric().ports()) {
    EXPECT_EQ(port.queued, 0U);
    if (port.switch_number == kNobody) continue;
    const Port& there = world_.fabric().port(port.peer);
    held[port.switch_number] +=
        static_cast<std::int64_t>(there.sent_bytes - port.counters.lost_bytes -
                                  port.counters.dropped_bytes - port.sent_bytes);
  }
  for (const auto& [number, bytes] : held) EXPECT_EQ(bytes, 0) << "switch " << number;
}

Time Traffic::last_received() const {
  return std::ranges::max_element(messages_, {}, &SentMessage::received)->received;
}

Totals Traffic::totals() {
  Totals all;
  for (const Port& port : world_.fabric().ports()) {
    all.dropped += port.counters.dropped_packets;
    all.lost += port.counters.lost_packets;
    all.pauses += port.counters.pauses_sent;
    all.marked += port.counters.marked_packets;
  }
  return all;
}

}  // namespace nerve::sim::test
