#include "sim/fabric/faults.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

namespace nerve::sim {
namespace {

// The edit distance between two names.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

class Names {
 public:
  explicit Names(const Graph& graph) : graph_{graph} {
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      nodes_.try_emplace(graph.nodes[i].name, i);
    }
  }

  [[nodiscard]] Result<NodeId, std::string> find(const std::string& name) const {
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) return NodeId{found->second};
    constexpr std::size_t kLongest = 64;  // longer than any name of a built-in topology
    if (name.empty() || name.size() > kLongest || graph_.nodes.empty()) {
      return Unexpected{"no node is named \"" + name.substr(0, kLongest) + "\""};
    }
    const auto nearest = std::ranges::min_element(
        graph_.nodes, {}, [&](const GraphNode& node) { return distance(name, node.name); });
    return Unexpected{"no node is named \"" + name + "\"; the nearest is \"" + nearest->name +
                      "\""};
  }

 private:
  const Graph& graph_;
  std::map<std::string_view, std::uint32_t> nodes_;
};

std::vector<CableId> cables_between(const Graph& graph, NodeId a, NodeId b) {
  std::vector<CableId> found;
  for (std::uint32_t i = 0; i < graph.cables.size(); ++i) {
    const Cable& cable = graph.cables[i];
    if ((cable.a == a && cable.b == b) || (cable.a == b && cable.b == a)) found.emplace_back(i);
  }
  return found;
}

// The ports of a node.
std::vector<PortId> ports_at(const Graph& graph, NodeId node) {
  std::vector<PortId> found;
  for (std::uint32_t i = 0; i < graph.ports(); ++i) {
    if (graph.node_at(PortId{i}) == node) found.emplace_back(i);
  }
  return found;
}

// Why the values of a fault are invalid; none when they are valid.
std::optional<std::string> objection(const FaultSpec& fault) {
  constexpr std::uint64_t kSlowest = 1'000'000;
  if (fault.at < Duration{} || fault.reroute < Duration{} || fault.lasts < Duration{}) {
    return "a time before the beginning";
  }
  if (fault.kind == FaultKind::kRate && fault.rate.bits_per_second() < kSlowest) {
    return "a rate below 1 Mb/s; a cable that carries nothing is \"down\"";
  }
  if (fault.kind == FaultKind::kErrors &&
      !(fault.bit_error_rate >= 0 && fault.bit_error_rate <= 1)) {
    return "a bit error rate that is not between 0 and 1";
  }
  return std::nullopt;
}

// The error probability of a byte: any of its eight bits damages it.
std::uint64_t error_chance_of(double bit_error_rate) {
  const double chance = std::min(bit_error_rate * 8, 1.0) * static_cast<double>(kErrorUnit);
  return static_cast<std::uint64_t>(std::llround(chance));
}

}  // namespace

Result<Faults, std::string> Faults::find(const Graph& graph, std::span<const FaultSpec> faults) {
  Faults made;
  made.known_down_.resize(graph.cables.size());
  const Names names{graph};
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const FaultSpec& what = faults[i];
    const std::string where = "fault " + std::to_string(i + 1) + ": ";
    if (const auto why = objection(what)) return Unexpected{where + *why};
    const auto from = names.find(what.from);
    if (!from) return Unexpected{where + from.error()};
    Fault fault{.what = what, .cables = {}, .ends = {}};
    if (what.kind == FaultKind::kStorm) {
      if (graph.nodes[from->value()].kind != NodeKind::kNic) {
        return Unexpected{where + what.from + " is a switch; a storm comes from a NIC"};
      }
      fault.ends = ports_at(graph, *from);
    } else {
      const auto to = names.find(what.to);
      if (!to) return Unexpected{where + to.error()};
      fault.cables = cables_between(graph, *from, *to);
      if (fault.cables.empty()) {
        return Unexpected{where + "no cable joins " + what.from + " and " + what.to};
      }
      for (const CableId cable : fault.cables) {
        fault.ends.emplace_back(2 * cable.value());
        fault.ends.emplace_back(2 * cable.value() + 1);
      }
    }
    made.faults_.push_back(std::move(fault));
  }
  return made;
}

// Subject 2i: fault i begins. Subject 2i + 1: the switches learn of it, or the storm ends.
void Faults::schedule(EventWheel<Happening>& wheel) const {
  for (std::uint32_t i = 0; i < faults_.size(); ++i) {
    const FaultSpec& what = faults_[i].what;
    const Time at{what.at};
    wheel.at(at, Happening::kCable, 2 * i);
    const bool storm = what.kind == FaultKind::kStorm;
    if (storm && what.lasts > Duration{}) {
      wheel.at(at + what.lasts, Happening::kCable, 2 * i + 1);
    }
    if (what.kind == FaultKind::kDown || what.kind == FaultKind::kUp) {
      wheel.at(at + what.reroute, Happening::kCable, 2 * i + 1);
    }
  }
}

std::vector<Time> Faults::cable_changes() const {
  std::vector<Time> times;
  for (const Fault& fault : faults_) {
    const FaultKind kind = fault.what.kind;
    if (kind == FaultKind::kDown || kind == FaultKind::kUp || kind == FaultKind::kRate) {
      times.emplace_back(fault.what.at);
    }
  }
  return times;
}

std::span<const PortId> Faults::happen(Fabric& fabric, std::uint32_t subject) {
  const Fault& fault = faults_[subject / 2];
  if (subject % 2 == 0) {
    begin(fabric, fault);
  } else {
    end(fabric, fault);
  }
  return fault.ends;
}

void Faults::begin(Fabric& fabric, const Fault& fault) {
  if (fault.what.kind == FaultKind::kStorm) {
    for (const PortId nic : fault.ends) fabric.pause_switch(nic, true);
  }
  for (const CableId cable : fault.cables) {
    switch (fault.what.kind) {
      case FaultKind::kDown:
        fabric.take_down(cable);
        break;
      case FaultKind::kUp:
        fabric.bring_up(cable);
        break;
      case FaultKind::kRate:
        fabric.slow_down(cable, fault.what.rate);
        break;
      case FaultKind::kErrors:
        fabric.damage(cable, error_chance_of(fault.what.bit_error_rate));
        break;
      case FaultKind::kStorm:
        break;
    }
  }
}

// Uses the current state of each cable, which may have changed again since the fault.
void Faults::end(Fabric& fabric, const Fault& fault) {
  if (fault.what.kind == FaultKind::kStorm) {
    for (const PortId nic : fault.ends) fabric.pause_switch(nic, false);
    return;
  }
  bool news = false;
  for (const CableId cable : fault.cables) {
    const bool down = !fabric.port(PortId{2 * cable.value()}).up;
    news |= known_down_[cable.value()] != down;
    known_down_[cable.value()] = down;
  }
  if (news) fabric.reroute(known_down_);
}

}  // namespace nerve::sim
