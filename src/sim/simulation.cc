#include "sim/simulation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/division.h"

namespace nerve::sim {
namespace {

constexpr Duration kInstant{1};
constexpr std::uint32_t kControllerActs = (1U << 28U) - 1;  // in place of a fault
// Shorter windows would be spent on waiting for each other.
constexpr Duration kLeastToShare{std::chrono::nanoseconds{20}};
// With fewer events per part than this in the last window, one thread is faster.
constexpr std::uint64_t kWorthSharing = 4;

// With up to this many NICs and switches, prefetching takes longer than what it saves.
constexpr std::size_t kFitInCaches = 300;

std::vector<FabricConfig> fabrics_of(const std::vector<SimulatedNetwork>& networks) {
  std::vector<FabricConfig> fabrics;
  fabrics.reserve(networks.size());
  for (const SimulatedNetwork& one : networks) fabrics.push_back(one.fabric);
  return fabrics;
}

Time before(Time when) { return when - kInstant; }

// TCP tells the receiver beforehand where messages end, and this takes no time. The rate of a flow
// depends on flows everywhere. NICs that share a PCIe link may be connected to different switches.
bool has_one_part(const SimulatedNetwork& network) {
  return network.tcp || network.flow || network.nics_per_pcie > 1;
}

bool is_controlled(const SimulatedNetwork& network) {
  return network.fabric.path_choice == PathChoice::kControlled;
}

// One controller is for all networks.
Duration control_delay_of(const std::vector<SimulatedNetwork>& networks) {
  Duration longest{};
  for (const SimulatedNetwork& network : networks) {
    if (is_controlled(network)) longest = std::max(longest, network.fabric.control_delay);
  }
  return longest;
}

Duration window_for(Duration post_delay, const Graph& graph,
                    const std::vector<SimulatedNetwork>& networks) {
  const bool one_part = std::ranges::any_of(networks, has_one_part);
  const Duration cut = one_part ? post_delay : shortest_cut(graph);
  return std::max(std::min(post_delay, cut), kInstant);
}

std::unique_ptr<FlowNetwork> flows_in(Clockwork& clockwork, Fabric& fabric,
                                      const std::vector<SimulatedNetwork>& networks) {
  std::vector<FlowTransport> transports;
  for (const SimulatedNetwork& one : networks) {
    if (one.flow) transports.push_back(*one.flow);
  }
  if (transports.empty()) return nullptr;
  CHECK(transports.size() == networks.size());
  return std::make_unique<FlowNetwork>(clockwork, fabric, std::move(transports));
}

std::uint32_t parts_for(const SimulationConfig& config, const Graph& graph,
                        const std::vector<SimulatedNetwork>& networks) {
  const std::uint32_t ranks = config.ranks == nullptr ? 1 : config.ranks->count();
  return divisible(config.post_delay, graph, networks, config.cores * ranks).parts;
}

}  // namespace

Divisible divisible(Duration post_delay, const Graph& graph,
                    const std::vector<SimulatedNetwork>& networks, std::uint32_t parts) {
  if (std::ranges::any_of(networks, [](const auto& one) { return one.tcp.has_value(); })) {
    return {1, "TCP hosts run in one part"};
  }
  if (std::ranges::any_of(networks, [](const auto& one) { return one.flow.has_value(); })) {
    return {1, "every flow depends on all others"};
  }
  if (std::ranges::any_of(networks, has_one_part)) return {1, "NICs share PCIe links"};
  if (post_delay < kLeastToShare) return {1, "servers.post_delay is below 20 ns"};
  if (shortest_cut(graph) < kLeastToShare) return {1, "a cable is shorter than 20 ns"};
  return {std::clamp(parts, 1U, kMostParts), ""};
}

Simulation::Simulation(const SimulationConfig& config, const Graph& graph,
                       const std::vector<SimulatedNetwork>& networks)
    : post_delay_{config.post_delay},
      control_delay_{control_delay_of(networks)},
      window_{window_for(config.post_delay, graph, networks)},
      part_of_node_{divide(graph, parts_for(config, graph, networks))},
      is_large_{graph.nodes.size() > kFitInCaches},
      fabric_{config.seed, graph, fabrics_of(networks)},
      nics_(graph.nodes.size()),
      tcp_nics_(graph.nodes.size()) {
  const std::size_t count = std::size_t{1} + *std::ranges::max_element(part_of_node_);
  for (const SimulatedNetwork& one : networks) nic_configs_.push_back(one.nics);
  std::size_t here = count;
  if (config.ranks != nullptr && config.ranks->count() > 1) {
    border_.emplace(*config.ranks, count, graph.ports(), [this](NodeId nic) -> MemoryPort& {
      return SimNic::memory_of(nic_configs_[fabric_.graph().nodes[nic.value()].network]);
    });
    first_part_ = border_->first_here();
    here = border_->count_here();
    qps_.resize(graph.nodes.size());
  }
  std::vector<FabricPart*> parts(count);
  for (std::size_t i = 0; i < here; ++i) {
    parts_.emplace_back().set_parts(count);
    parts[first_part_ + i] = &parts_.back().fabric;
  }
  senders_.resize(here);
  fabric_.divide(part_of_node_, parts);
  // What cannot be divided among threads cannot be divided into groups either.
  if (divisible(config.post_delay, graph, networks, kMostParts).parts > 1) {
    groups_.emplace(graph, window_, part_of_node_);
  }
  for (Part& part : parts_) foresights_.emplace_back(part.clockwork(), fabric_, nics_);
  crew_.emplace(static_cast<std::uint32_t>(here), [this](std::uint32_t i) { run_part(i); });
  if (!border_) flows_ = flows_in(parts_[0].clockwork(), fabric_, networks);
  if (flows_) {
    flows_->serve(parts_[0]);
    return;
  }
  if (std::ranges::any_of(networks, is_controlled)) controller_.emplace(fabric_);
  add_nics(networks);
  if (border_) mirror_.emplace(*border_, fabric_, nics_);
}

void Simulation::add_nics(const std::vector<SimulatedNetwork>& networks) {
  for (std::uint32_t i = 0; i < nics_.size(); ++i) {
    const GraphNode& node = fabric_.graph().nodes[i];
    if (node.kind != NodeKind::kNic || !is_here(NodeId{i})) continue;
    const SimulatedNetwork& network = networks[node.network];
    Part& part = part_of(NodeId{i});
    if (network.tcp) {
      tcp_nics_[i] = std::make_unique<TcpNic>(part.clockwork(), fabric_, NodeId{i}, *network.tcp);
      tcp_nics_[i]->serve(part);
      continue;
    }
    nics_[i] = std::make_unique<SimNic>(part.clockwork(), fabric_, NodeId{i},
                                        settings_for(NodeId{i}), pcie_link_of(i, network));
    nics_[i]->serve(part);
  }
}

// NICs of one network and rate have the same.
const SimNicSettings& Simulation::settings_for(NodeId nic) {
  const std::uint32_t network = fabric_.graph().nodes[nic.value()].network;
  const Rate rate = fabric_.rate_of(nic);
  for (const auto& [known, settings] : nic_settings_) {
    if (known == network && settings.config.engine.line_rate == rate) return settings;
  }
  SimNicConfig own = nic_configs_[network];
  own.engine.line_rate = rate;
  return nic_settings_.emplace_back(network, SimNicSettings{own}).second;
}

// The NICs of a server have consecutive numbers.
PcieLink* Simulation::pcie_link_of(std::uint32_t node, const SimulatedNetwork& network) {
  if (network.nics_per_pcie <= 1) return nullptr;
  if (node % network.nics_per_pcie == 0) pcie_links_.push_back({.rate = network.pcie});
  return &pcie_links_.back();
}

std::uint64_t Simulation::executed_here() const {
  std::uint64_t sum = 0;
  for (const Part& part : parts_) sum += part.executed();
  return sum;
}

std::uint64_t Simulation::events() const {
  return programs_.executed() + schedule_.executed() + executed_here() +
         (border_ ? border_->executed_elsewhere() : 0);
}

std::size_t Simulation::pending() const {
  std::size_t sum = programs_.pending() + schedule_.pending();
  for (const Part& part : parts_) sum += part.fabric.clockwork.wheel.pending();
  return sum;
}

bool Simulation::idle() const {
  if (border_ && border_->next_elsewhere() != FabricPart::kNever) return false;
  return programs_.empty() && schedule_.empty() && std::ranges::all_of(parts_, &Part::is_idle);
}

std::optional<NicFigures> Simulation::find_figures(NodeId node) const {
  if (const SimNic* const nic = find_nic(node)) return nic->figures();
  const NicFigures* const known = mirror_ ? mirror_->find(node) : nullptr;
  return known == nullptr ? std::nullopt : std::optional{*known};
}

std::size_t Simulation::packets_in_use() const {
  std::size_t sum = 0;
  for (const Part& part : parts_) sum += part.fabric.clockwork.packets.in_use();
  return sum;
}

void Simulation::schedule(Faults faults) {
  faults_ = std::move(faults);
  faults_.schedule(schedule_);
  if (!controller_) return;
  for (const Time when : faults_.cable_changes()) {
    schedule_.at(when + control_delay_, Happening::kCable, kControllerActs);
  }
}

void Simulation::obey(const std::vector<PathController::Order>& orders) {
  for (const PathController::Order& one : orders) {
    if (is_here(one.nic)) nic(one.nic).redirect_flow(one.qp, one.label);
  }
}

void Simulation::cables_changed(std::uint32_t subject) {
  if (subject == kControllerActs) return obey(controller_->cables_changed());
  if (border_) share_held(faults_.brought_up(subject));
  for (const PortId changed : faults_.happen(fabric_, subject)) {
    const Port& port = fabric_.port(changed);
    if (fabric_.is_here(port)) resumed(port);
  }
  if (controller_ && faults_.is_reroute(subject)) obey(controller_->routes_changed());
  if (flows_) flows_->cables_changed();
}

// A rank that has one end, or neither, still counts the QPs of both.
Joined Simulation::join(NodeId a, NodeId b, bool urgent) {
  disturbed_ = true;
  if (flows_) return flows_->join(a, b);
  if (tcp_nics_[a.value()]) {
    CHECK(!urgent);
    return TcpNic::join(*tcp_nics_[a.value()], *tcp_nics_[b.value()]);
  }
  Joined made;
  if (!border_) {
    made = SimNic::join(nic(a), nic(b), urgent);
  } else {
    made = {QpNumber{qps_[a.value()]++}, QpNumber{qps_[b.value()]++}};
    if (is_here(a)) CHECK(nic(a).join(b, made.theirs, urgent) == made.mine);
    if (is_here(b)) CHECK(nic(b).join(a, made.mine, urgent) == made.theirs);
  }
  if (!urgent && has_controller(a)) {
    const SimNicConfig& config = nic_configs_[fabric_.graph().nodes[a.value()].network];
    const Qpn mine = SimNic::qpn_of(config, made.mine);
    const Qpn theirs = SimNic::qpn_of(config, made.theirs);
    controller_->introduce({a, b, mine, theirs}, made.mine);
    controller_->introduce({b, a, theirs, mine}, made.theirs);
  }
  return made;
}

void Simulation::write(NodeId from, const NicMessage& message) {
  if (controller_) {
    const auto label = controller_->admit(from, message.qp);
    if (label && is_here(from)) nic(from).redirect_flow(message.qp, *label);
  }
  const Time when = planned_ ? *planned_ : now() + post_delay_;
  if (!is_here(from)) return border_->expect_elsewhere(when);
  part_of(from).post_at(when, from, message);
}

bool Simulation::has_controller(NodeId nic) {
  const Port& port = fabric_.port(fabric_.first_port(nic));
  return controller_ && fabric_.config_of(port).path_choice == PathChoice::kControlled;
}

Time Simulation::next_in_parts() {
  if (std::exchange(disturbed_, false)) {
    for (Part& part : parts_) part.end();
  }
  Time first = FabricPart::kNever;
  for (const Part& part : parts_) first = std::min(first, part.next());
  return border_ ? std::min(first, border_->next_elsewhere()) : first;
}

void Simulation::restart_flow(NodeId at, QpNumber qp) {
  disturbed_ = true;
  if (flows_) return;  // they have no rate to forget, and keep the path of their QP
  if (controller_) controller_->release(at, qp);
  if (!is_here(at)) return;
  if (SimNic* const nic = find_nic(at)) return nic->restart_flow(qp);
  tcp_nics_[at.value()]->restart_flow(qp);
}

std::uint64_t Simulation::run(Time limit, std::uint64_t most_events) {
  const std::uint64_t already = events();
  stopped_ = false;
  disturbed_ = true;
  if (!begun_) run_programs(Time{} + kInstant);  // what they have planned for the beginning
  begun_ = true;
  while (!stopped_ && !broken_ && events() - already < most_events) {
    const Time planned = schedule_.due().value_or(FabricPart::kNever);
    const Time next =
        std::min({planned, next_in_parts(), programs_.due().value_or(FabricPart::kNever)});
    if (next == FabricPart::kNever || next > limit) break;
    if (next == planned) {
      run_schedule(next);
    } else {
      run_window(std::min({next + window_, planned, limit + kInstant}));
    }
  }
  return events() - already;
}

void Simulation::run_window(Time end) {
  window_end_ = end;
  leaving_set_ ^= 1U;
  sender_count_ = 0;
  for (Part& part : parts_) {
    if (part.has_sent()) senders_[sender_count_++] = &part;
  }
  const std::uint64_t already = executed_here();
  if (!parts_.empty() && happened_ >= kWorthSharing * parts_.size()) {
    crew_->run();
  } else {
    for (std::uint32_t i = 0; i < parts_.size(); ++i) run_part(i);
  }
  happened_ = executed_here() - already;
  for (Part& part : parts_) part.collect(reports_);
  if (border_) exchange(end);
  run_programs(end);
}

void Simulation::exchange(Time end) {
  const Border::Place place{end, programs_.executed()};
  if (!border_->exchange(place, parts_, leaving_set_, reports_)) broken_ = true;
}

// What a port may send when its cable comes back depends on what its peer still holds.
void Simulation::share_held(std::span<const PortId> ends) {
  if (ends.empty()) return;
  Packed mine;
  for (const PortId at : ends) {
    if (!fabric_.is_here(fabric_.port(at))) continue;
    Packer{mine}.put(at);
    Packer{mine}.put(fabric_.held(at));
  }
  std::vector<Packed> all(border_->ranks());
  if (!border_->share(mine, all)) broken_ = true;
  fabric_.forget_held();
  for (const Packed& one : all) {
    for (Unpacker from{one}; from.intact() && !from.at_end();) {
      const auto at = from.take<PortId>();
      fabric_.learn_held(at, from.take<Fabric::Held>());
    }
  }
}

void Simulation::run_part(std::uint32_t number) {
  Part& part = parts_[number];
  part.begin(leaving_set_);
  bool took = false;
  for (Part* const from : std::span{senders_}.first(sender_count_)) {
    took |= part.take_from(*from, first_part_ + number, leaving_set_ ^ 1U);
  }
  if (!took && part.next_here() >= window_end_) return part.end_idle();
  EventWheel<Happening>& wheel = part.clockwork().wheel;
  const Time limit = before(window_end_);
  if (groups_) {
    wheel.open_window(window_end_, groups_->count(first_part_ + number),
                      [&](Happening kind, std::uint32_t at) { return groups_->of(kind, at); });
  }
  Event<Happening> event;
  while (groups_ ? wheel.next_in_window(event) : wheel.next(limit, event)) {
    if (is_large_) foresights_[number].look();
    happen(part, event);
  }
  part.end();
}

void Simulation::run_programs(Time end) {
  for (std::uint32_t i = 0; i < reports_.size(); ++i) {
    programs_.at(reports_[i].when, Happening::kReport, reports_[i].nic.value(), i);
  }
  Event<Happening> event;
  while (programs_.next(before(end), event)) {
    if (event.kind == Happening::kTask) {
      on_task_(event.subject, event.argument);
    } else {
      reports_[event.argument].tell(*user_);
    }
  }
  reports_.clear();
  if (controller_ && controller_->may_improve()) obey(controller_->improve());
  programs_.skip_to(before(end));
}

void Simulation::run_schedule(Time when) {
  for (Part& part : parts_) part.clockwork().wheel.skip_to(when);
  programs_.skip_to(when);
  Event<Happening> event;
  if (!schedule_.next(when, event)) return;
  if (event.kind == Happening::kSample) return on_sample_();
  cables_changed(event.subject);
  // What left in the last window, and what left just now.
  for (std::uint32_t i = 0; i < parts_.size(); ++i) {
    for (Part& from : parts_) parts_[i].take_from(from, first_part_ + i, leaving_set_);
  }
  if (border_) {
    for (Part& part : parts_) part.end();
    exchange(when);
  }
  for (Part& part : parts_) part.begin(leaving_set_);
  disturbed_ = true;
}

void Simulation::arrive(PortId at, PacketId packet) {
  const Port& port = fabric_.port(at);
  if (port.switch_number != kNobody) return fabric_.forward(at, packet);
  if (SimNic* const nic = find_nic(port.node)) return nic->arrive(at, packet);
  find_tcp_nic(port.node)->arrive(at, packet);
}

void Simulation::port_free(PortId at) {
  const Port& port = fabric_.port(at);
  if (port.switch_number != kNobody) return fabric_.port_free(at);
  if (SimNic* const nic = find_nic(port.node)) return nic->port_free(at);
  find_tcp_nic(port.node)->port_free(at);
}

// Notifies a NIC that its peer has resumed it or returned credit.
void Simulation::resumed(const Port& port) {
  if (flows_ || port.switch_number != kNobody) return;
  if (SimNic* const nic = find_nic(port.node)) return nic->resumed();
  find_tcp_nic(port.node)->resumed();
}

void Simulation::post(Part& part, NodeId at, const NicMessage& message) {
  if (flows_) {
    if (!flows_->write(at, message)) part.lose(at, message.qp);
    return;
  }
  if (SimNic* const nic = find_nic(at)) return nic->write(message);
  find_tcp_nic(at)->write(message);
}

void Simulation::happen(Part& part, const Event<Happening>& event) {
  const PortId port{event.subject};
  switch (event.kind) {
    case Happening::kArrive:
      return arrive(port, PacketId{event.argument});
    case Happening::kPortFree:
      return port_free(port);
    case Happening::kPause:
      fabric_.pause(port, event.argument);
      return resumed(fabric_.port(port));
    case Happening::kCredit:
      fabric_.credit(port, event.argument);
      return resumed(fabric_.port(port));
    case Happening::kWatchdog:
      return fabric_.watchdog(port, event.argument);
    case Happening::kNicTimer:
      return nics_[event.subject]->timer(event.when);
    case Happening::kNicPacket:
      return nics_[event.subject]->go_on(PacketId{event.argument});
    case Happening::kTcp:
      return tcp_nics_[event.subject]->happen(event.argument);
    case Happening::kFlow:
      return flows_->happen(event.subject, event.argument, event.when);
    case Happening::kPost:
      return post(part, NodeId{event.subject}, part.take_post(event.argument));
    default:
      CHECK(false);  // not an event of a part
  }
}

}  // namespace nerve::sim
