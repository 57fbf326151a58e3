#include "sim/plan/bill.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "sim/scenario/units.h"

namespace nerve::sim::plan {
namespace {

using scenario_file::rate_text;

constexpr double kMostSplits = 8;

// leaf, of plane0-leaf3
std::string tier_name(const GraphNode& node) {
  if (node.kind == NodeKind::kNic) return "nic";
  std::string name = node.name.substr(node.name.rfind('-') + 1);
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
  return name.empty() ? fmt::format("tier{}", node.tier) : name;
}

// Ports of a switch that a cable takes: a share of one, or several.
double ports_taken(const Part& part, Rate cable) {
  const double share = static_cast<double>(cable.bits_per_second()) /
                       static_cast<double>(part.rate.bits_per_second());
  if (share <= 1) return std::max(share, 1 / kMostSplits);
  const auto whole = static_cast<double>(static_cast<std::uint64_t>(share));
  return whole < share ? whole + 1 : whole;
}

class Counting {
 public:
  Counting(const Candidate& candidate, const Graph& graph, const Layout& layout,
           const Prices& prices)
      : candidate_{candidate}, graph_{graph}, layout_{layout}, prices_{prices} {}

  Result<Bill, std::string> bill() {
    const bool complete = add_hosts() && add_switches() && add_cables();
    if (!complete) return Unexpected{why_};
    return std::move(bill_);
  }

 private:
  bool missing(std::string what) {
    why_ = "the prices have no " + std::move(what);
    return false;
  }

  void add(std::size_t part, std::string where, std::uint64_t count, double metres = 0) {
    for (BillLine& line : bill_.lines) {
      if (line.part != part || line.where != where) continue;
      line.count += count;
      line.metres += metres;
      return;
    }
    bill_.lines.push_back({part, std::move(where), count, metres});
  }

  bool add_hosts() {
    const Part* server = server_part(prices_, candidate_.gpus_per_server);
    if (server == nullptr)
      return missing(fmt::format("server with {} GPUs", candidate_.gpus_per_server));
    add(index_of(*server), "", candidate_.servers);
    for (const Part& part : prices_.parts) {
      if (part.kind != PartKind::kNic || part.rate != candidate_.nic_rate) continue;
      std::uint64_t nics = 0;
      for (const GraphNode& node : graph_.nodes) nics += node.kind == NodeKind::kNic ? 1U : 0U;
      add(index_of(part), "", nics);
      return true;
    }
    return missing("NIC of " + rate_text(candidate_.nic_rate));
  }

  bool add_switches() {
    const Part& part = prices_.parts[candidate_.switch_part];
    std::vector<double> taken(graph_.nodes.size());
    for (const Cable& cable : graph_.cables) {
      for (const NodeId end : {cable.a, cable.b}) {
        if (graph_.nodes[end.value()].kind != NodeKind::kSwitch) continue;
        taken[end.value()] += ports_taken(part, cable.rate);
        ++bill_.switch_ports;
      }
    }
    // Switches of the graph that use few ports share one that is bought.
    std::map<std::string, std::map<double, std::uint64_t>> alike;  // by tier, by ports taken
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& node = graph_.nodes[i];
      if (node.kind != NodeKind::kSwitch) continue;
      if (taken[i] > part.ports) {
        why_ = fmt::format("{} needs {} ports of {}, and {} has {}", node.name,
                           scenario_file::number_text(taken[i]), rate_text(part.rate), part.name,
                           part.ports);
        return false;
      }
      ++bill_.switches_in_graph;
      ++alike[tier_name(node)][taken[i]];
    }
    for (const auto& [tier, counts] : alike) {
      for (const auto& [ports, count] : counts) {
        const auto share = ports > 0 ? static_cast<std::uint64_t>(part.ports / ports) : count;
        add(candidate_.switch_part, tier, (count + share - 1) / share);
      }
    }
    return true;
  }

  // The cheapest fixed cable, or fibre with two transceivers.
  struct Choice {
    std::optional<std::size_t> cable;
    std::optional<std::size_t> transceiver;
    double price{};
  };

  void consider(Choice& best, std::size_t cable, std::optional<std::size_t> transceiver,
                double price) const {
    if (best.cable && best.price <= price) return;
    best = {cable, transceiver, price};
  }

  [[nodiscard]] Choice choose(Rate rate, double metres) const {
    std::optional<std::size_t> optics;
    for (std::size_t i = 0; i < prices_.parts.size(); ++i) {
      const Part& part = prices_.parts[i];
      if (part.kind != PartKind::kTransceiver || part.rate < rate || part.reach < metres) continue;
      if (!optics || part.price.typical < prices_.parts[*optics].price.typical) optics = i;
    }
    Choice best;
    for (std::size_t i = 0; i < prices_.parts.size(); ++i) {
      const Part& part = prices_.parts[i];
      if (part.kind != PartKind::kCable || part.reach < metres) continue;
      if (part.rate != Rate{} && part.rate < rate) continue;
      const double price = part.price.typical + part.per_metre * metres;
      if (part.medium == Medium::kFibre) {
        if (optics) consider(best, i, optics, price + 2 * prices_.parts[*optics].price.typical);
      } else if (candidate_.cabling == Cabling::kByLength) {
        consider(best, i, std::nullopt, price);
      }
    }
    return best;
  }

  bool add_cables() {
    std::map<std::pair<std::uint64_t, double>, Choice> chosen;  // by rate and length
    for (std::size_t i = 0; i < graph_.cables.size(); ++i) {
      const Cable& cable = graph_.cables[i];
      const double metres = layout_.metres[i];
      auto [at, is_new] = chosen.try_emplace({cable.rate.bits_per_second(), metres});
      if (is_new) at->second = choose(cable.rate, metres);
      const Choice& choice = at->second;
      if (!choice.cable) {
        return missing(fmt::format("cable of {} and {} m", rate_text(cable.rate),
                                   scenario_file::number_text(metres)));
      }
      const std::string where =
          tier_name(graph_.nodes[cable.a.value()]) + "-" + tier_name(graph_.nodes[cable.b.value()]);
      add(*choice.cable, where, 1, metres);
      if (choice.transceiver) add(*choice.transceiver, where, 2);
    }
    bill_.cables_in_graph = graph_.cables.size();
    return true;
  }

  [[nodiscard]] std::size_t index_of(const Part& part) const {
    return static_cast<std::size_t>(&part - prices_.parts.data());
  }

  const Candidate& candidate_;
  const Graph& graph_;
  const Layout& layout_;
  const Prices& prices_;
  Bill bill_;
  std::string why_;
};

bool is_network(PartKind kind) { return kind != PartKind::kServer; }

}  // namespace

const Part* server_part(const Prices& prices, std::uint32_t gpus) {
  for (const Part& part : prices.parts) {
    if (part.kind == PartKind::kServer && part.gpus == gpus) return &part;
  }
  return nullptr;
}

Result<Bill, std::string> bill_of(const Candidate& candidate, const Graph& graph,
                                  const Layout& layout, const Prices& prices) {
  return Counting{candidate, graph, layout, prices}.bill();
}

Money price_of(const BillLine& line, const Part& part) {
  const double by_length = line.metres * part.per_metre;
  return part.price * static_cast<double>(line.count) + Money{by_length, by_length, by_length};
}

Money capital_of(const Bill& bill, const Prices& prices) {
  Money all;
  for (const BillLine& line : bill.lines) all = all + price_of(line, prices.parts[line.part]);
  return all;
}

Money network_capital_of(const Bill& bill, const Prices& prices) {
  Money all;
  for (const BillLine& line : bill.lines) {
    const Part& part = prices.parts[line.part];
    if (is_network(part.kind)) all = all + price_of(line, part);
  }
  return all;
}

double watts_of(const Bill& bill, const Prices& prices) {
  double watts = 0;
  for (const BillLine& line : bill.lines) {
    watts += static_cast<double>(line.count) * prices.parts[line.part].watts;
  }
  return watts;
}

double network_watts_of(const Bill& bill, const Prices& prices) {
  double watts = 0;
  for (const BillLine& line : bill.lines) {
    const Part& part = prices.parts[line.part];
    if (is_network(part.kind)) watts += static_cast<double>(line.count) * part.watts;
  }
  return watts;
}

double energy_hours(double watts, const Prices& prices, double years) {
  constexpr double kHours = 8766;  // of a year
  return watts / 1000 * prices.site.pue * kHours * years;
}

Money energy_of(const Bill& bill, const Prices& prices, double years) {
  for (const Part& part : prices.parts) {
    if (part.kind != PartKind::kEnergy) continue;
    return part.price * energy_hours(watts_of(bill, prices), prices, years);
  }
  return {};
}

}  // namespace nerve::sim::plan
