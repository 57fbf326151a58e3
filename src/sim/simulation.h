// A fabric with its NICs, the programs on its hosts, and the event loop.
//
// Time passes in windows. In a window the parts of the fabric run, each in a thread of its own,
// without looking at each other. Then the programs run: they learn what their NICs have completed
// in the window, and post messages, which reach the NICs a post delay later. A window is no longer
// than this delay, nor than the shortest cable that may lead from one part to another, so nothing
// that happens in it can affect another part, or a NIC through a program, within the same window.
//
// A run is a function of its scenario and seed, however many parts there are: windows do not depend
// on the division, and neither does the order of the events of an object (core/event_wheel.h).
//
// With several ranks (ranks.h) each has its own parts and all run the same programs. A NIC exists
// in the process of its part only; the switches and ports of others are there, but idle.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/border.h"
#include "sim/control/path_controller.h"
#include "sim/core/clockwork.h"
#include "sim/crew.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/faults.h"
#include "sim/fluid/flow_network.h"
#include "sim/foresight.h"
#include "sim/groups.h"
#include "sim/host/sim_nic.h"
#include "sim/host/tcp_nic.h"
#include "sim/mirror.h"
#include "sim/part.h"

namespace nerve::sim {

// One of the networks in a graph.
struct SimulatedNetwork {
  FabricConfig fabric{};
  SimNicConfig nics{};
  std::optional<TcpSpec> tcp;           // hosts use TCP and have no engine
  std::optional<FlowTransport> flow{};  // messages are flows; all networks of a run or none
  std::uint32_t nics_per_pcie{1};       // that share a link; NICs are the first nodes of the graph
  Rate pcie{};                          // of this link
};

struct SimulationConfig {
  std::uint64_t seed{};
  // From the decision of a program to send until its NIC begins: software, doorbell, PCIe.
  Duration post_delay{};
  std::uint32_t cores{1};  // threads at most, in each process
  Ranks* ranks{};          // null: this process alone. Must outlive the simulation.
};

// The number of parts that these networks can be divided into, at most this many. One, and why, if
// they cannot be divided.
struct Divisible {
  std::uint32_t parts{1};
  std::string why;
};
[[nodiscard]] Divisible divisible(Duration post_delay, const Graph& graph,
                                  const std::vector<SimulatedNetwork>& networks,
                                  std::uint32_t parts);

class Simulation {
 public:
  Simulation(std::uint64_t seed, const Graph& graph, const FabricConfig& fabric,
             const SimNicConfig& nics)
      : Simulation{{.seed = seed}, graph, {{fabric, nics, std::nullopt}}} {}
  Simulation(const SimulationConfig& config, const Graph& graph,
             const std::vector<SimulatedNetwork>& networks);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  [[nodiscard]] Fabric& fabric() { return fabric_; }
  [[nodiscard]] std::size_t nodes() const { return nics_.size(); }
  // Null for a switch, a NIC of the other kind, and a NIC of another rank.
  [[nodiscard]] SimNic* find_nic(NodeId node) { return nics_[node.value()].get(); }
  [[nodiscard]] const SimNic* find_nic(NodeId node) const { return nics_[node.value()].get(); }
  [[nodiscard]] TcpNic* find_tcp_nic(NodeId node) { return tcp_nics_[node.value()].get(); }
  // Null unless messages are flows. Then there are no NICs.
  [[nodiscard]] FlowNetwork* flows() { return flows_.get(); }
  [[nodiscard]] SimNic& nic(NodeId node) { return *nics_[node.value()]; }

  // What is recorded of a NIC with an engine; none for other nodes. Rank zero knows it of the NICs
  // of other ranks, as of the last update_records(), and so it does of their ports.
  [[nodiscard]] std::optional<NicFigures> find_figures(NodeId node) const;
  void update_records() {
    if (mirror_ && !mirror_->update()) broken_ = true;
  }
  // Whether this rank records this port, and whether it knows what is queued there.
  [[nodiscard]] bool records(PortId port) const {
    return !border_ || border_->is_first_rank() || has(port);
  }
  [[nodiscard]] bool has(PortId port) const {
    return !border_ || fabric_.is_here(fabric_.ports()[port.value()]);
  }
  // The other ranks; null if there are none.
  [[nodiscard]] Border* border() { return border_ ? &*border_ : nullptr; }
  // Why the ranks could not go on; empty unless run() ended for that.
  [[nodiscard]] std::string trouble() const { return border_ ? border_->trouble() : ""; }

  // What has happened before this time is complete.
  [[nodiscard]] Time now() const { return planned_.value_or(programs_.now()); }
  [[nodiscard]] std::uint64_t events() const;  // so far
  [[nodiscard]] std::size_t pending() const;   // events that are scheduled
  [[nodiscard]] bool idle() const;             // nothing is left to happen
  [[nodiscard]] std::size_t packets_in_use() const;

  // For NICs of both kinds. The two ends of a connection must be in one network.
  void serve(NicUser& user) { user_ = &user; }
  [[nodiscard]] Joined join(NodeId a, NodeId b) { return join(a, b, false); }
  // For short messages that overtake data: in the control class, on a path that no controller
  // chooses. For networks of RDMA NICs.
  [[nodiscard]] Joined join_urgent(NodeId a, NodeId b) { return join(a, b, true); }
  // The NIC gets the message after the post delay.
  void write(NodeId from, const NicMessage& message);
  // The next message of this QP begins a new flow; the last one must be acknowledged.
  void restart_flow(NodeId at, QpNumber qp);

  // Events of the programs.
  using OnTask = std::function<void(std::uint32_t subject, std::uint32_t argument)>;
  void on_task(OnTask call) { on_task_ = std::move(call); }
  void task_at(Time when, std::uint32_t subject, std::uint32_t argument) {
    programs_.at(when, Happening::kTask, subject, argument);
  }
  // Until the next call, programs act as if at this time, and what they post is posted exactly
  // then. For what they have planned beforehand: the time lies a post delay ahead, or is zero.
  void plan(std::optional<Time> when) { planned_ = when; }
  [[nodiscard]] Duration post_delay() const { return post_delay_; }

  using OnSample = std::function<void()>;
  void on_sample(OnSample call) { on_sample_ = std::move(call); }
  void sample_at(Time when) { schedule_.at(when, Happening::kSample, 0); }
  // Schedules the faults of cables.
  void schedule(Faults faults);

  // Runs until no event is left at or before `limit`, until the window in which stop() was called
  // is over, or for this many events and the rest of a window. Returns the number of events.
  std::uint64_t run(Time limit, std::uint64_t most_events = UINT64_MAX);
  void stop() { stopped_ = true; }

 private:
  [[nodiscard]] Joined join(NodeId a, NodeId b, bool urgent);
  [[nodiscard]] bool is_here(NodeId node) const {
    return part_of_node_[node.value()] - first_part_ < parts_.size();
  }
  [[nodiscard]] Part& part_of(NodeId node) {
    return parts_[part_of_node_[node.value()] - first_part_];
  }
  void add_nics(const std::vector<SimulatedNetwork>& networks);
  [[nodiscard]] QpNumber join_end(NodeId here, NodeId peer, QpNumber theirs);
  // With other ranks: what has happened up to `end`, and what has left for their parts.
  void exchange(Time end);
  void share_held(std::span<const PortId> ends);
  [[nodiscard]] Time next_in_parts();
  [[nodiscard]] std::uint64_t executed_here() const;
  [[nodiscard]] const SimNicSettings& settings_for(NodeId nic);
  [[nodiscard]] PcieLink* pcie_link_of(std::uint32_t node, const SimulatedNetwork& network);
  void run_window(Time end);
  void run_part(std::uint32_t number);
  void run_programs(Time end);
  void run_schedule(Time when);
  [[nodiscard]] bool has_controller(NodeId nic);
  void cables_changed(std::uint32_t subject);
  void obey(const std::vector<PathController::Order>& orders);
  void happen(Part& part, const Event<Happening>& event);
  void arrive(PortId at, PacketId packet);
  void port_free(PortId at);
  void post(Part& part, NodeId nic, const NicMessage& message);
  void resumed(const Port& port);

  Duration post_delay_;
  Duration control_delay_;  // until the controller of paths reacts to a failure
  Duration window_;
  std::vector<std::uint16_t> part_of_node_;
  std::optional<Border> border_;
  std::size_t first_part_{};      // of this process
  std::deque<Part> parts_;        // of this process
  std::optional<Groups> groups_;  // none: all events of a part come in order of time
  bool is_large_;
  Fabric fabric_;
  EventWheel<Happening> programs_;  // kTask, kReport
  EventWheel<Happening> schedule_;  // kSample, kCable: they come before all else at their time
  Faults faults_;
  std::optional<PathController> controller_;
  std::deque<PcieLink> pcie_links_;                // that several NICs share
  std::vector<std::unique_ptr<SimNic>> nics_;      // per node; null for a switch
  std::vector<std::unique_ptr<TcpNic>> tcp_nics_;  // per node
  std::vector<SimNicConfig> nic_configs_;          // per network
  std::deque<std::pair<std::uint32_t, SimNicSettings>> nic_settings_;  // per network and rate
  std::vector<std::uint32_t> qps_;  // per NIC, if there are other ranks
  std::optional<Mirror> mirror_;
  std::unique_ptr<FlowNetwork> flows_;
  std::deque<Foresight> foresights_;  // per part
  std::vector<NicReport> reports_;    // of the current window
  NicUser* user_{};
  std::optional<Time> planned_;
  Time window_end_{};
  std::uint64_t happened_{};    // in the parts, in the last window
  unsigned leaving_set_{};      // of the outboxes: those of the last window
  std::vector<Part*> senders_;  // that have sent something in it: the first sender_count_
  std::size_t sender_count_{};
  bool disturbed_{};  // parts have changed since their last window
  bool broken_{};     // the ranks cannot go on
  bool begun_{};
  bool stopped_{};
  OnTask on_task_;
  OnSample on_sample_;
  std::optional<Crew> crew_;  // the last member: its threads use the others
};

}  // namespace nerve::sim
