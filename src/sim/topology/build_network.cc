#include "sim/topology/build_network.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/topology/check_network.h"
#include "sim/topology/graph_file.h"
#include "sim/topology/topologies.h"

namespace nerve::sim {
namespace {

using Made = Result<Graph, std::string>;

constexpr std::uint64_t kMostNics = std::uint64_t{1} << 20;
constexpr std::uint32_t kUsualLeaf = 32;  // default NICs per leaf
constexpr std::uint32_t kMostSpines = 4096;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

std::string text_of(std::uint64_t number) { return std::to_string(number); }

std::string ratio(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g:1", value);
  return text;
}

std::string gigabits(std::uint64_t bps) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6gG", static_cast<double>(bps) / 1e9);
  return text;
}

struct Asked {
  const NetworkSpec& spec;
  NetworkHosts hosts;

  [[nodiscard]] std::uint32_t nics() const { return hosts.servers * hosts.nics_per_server; }
  [[nodiscard]] Links links() const {
    const Rate trunk = spec.trunk_rate == Rate{} ? spec.nic_rate : spec.trunk_rate;
    return {spec.nic_rate, trunk, spec.nic_delay, spec.trunk_delay};
  }
};

Made refuse(std::string why) { return Unexpected{std::move(why)}; }

// --- leaves and spines -------------------------------------------------------------------------

struct Uplinks {
  std::uint32_t spines{};
  Rate trunk{};
};

// For a leaf with this capacity towards NICs. Of spines, trunk rate and oversubscription, two
// determine the third. With neither spines nor rate given, the rate is that of the NICs.
Result<Uplinks, std::string> choose_uplinks(const NetworkSpec& spec, std::uint64_t down_bps) {
  if (!(spec.oversubscription >= 0.01 && spec.oversubscription <= 1000)) {
    return Unexpected{std::string{"oversubscription must be from 0.01 to 1000"}};
  }
  if (spec.spines > kMostSpines) {
    return Unexpected{"spines = " + text_of(spec.spines) + ": at most " + text_of(kMostSpines)};
  }
  const double up = static_cast<double>(down_bps) / spec.oversubscription;
  if (spec.spines != 0 && spec.trunk_rate != Rate{}) {
    const std::uint64_t bps = spec.trunk_rate.bits_per_second();
    const double there_is = static_cast<double>(down_bps) / static_cast<double>(spec.spines * bps);
    if (spec.oversubscription != 1 && std::abs(there_is / spec.oversubscription - 1) > 0.01) {
      return Unexpected{"a leaf has " + gigabits(down_bps) + " downwards and " +
                        text_of(spec.spines) + " x " + gigabits(bps) + " upwards, which is " +
                        ratio(there_is) + "; the scenario has oversubscription " +
                        ratio(spec.oversubscription) + "; leave one of the three out"};
    }
    return Uplinks{spec.spines, spec.trunk_rate};
  }
  if (spec.spines != 0) {
    const auto bps = static_cast<std::uint64_t>(std::ceil(up / spec.spines));
    return Uplinks{spec.spines, Rate::bits_per_second(std::max<std::uint64_t>(bps, 1'000'000))};
  }
  const Rate trunk = spec.trunk_rate == Rate{} ? spec.nic_rate : spec.trunk_rate;
  // The tolerance keeps a rounding error of the ratio from adding a spine.
  const double spines = std::ceil(up / static_cast<double>(trunk.bits_per_second()) - 1e-6);
  if (spines > kMostSpines) {
    return Unexpected{"a leaf with " + gigabits(down_bps) + " downwards would need " +
                      text_of(static_cast<std::uint64_t>(spines)) + " spines at " +
                      gigabits(trunk.bits_per_second()) + "; use a higher trunk_rate"};
  }
  return Uplinks{std::max(static_cast<std::uint32_t>(spines), 1U), trunk};
}

// A multiple of the NICs per server, so that a server's NICs share a leaf, with at least two
// leaves.
std::uint32_t choose_nics_per_leaf(const Asked& asked) {
  if (asked.spec.nics_per_leaf != 0) return std::min(asked.spec.nics_per_leaf, asked.nics());
  const std::uint32_t each = asked.hosts.nics_per_server;
  const auto half = static_cast<std::uint32_t>(divide_up(asked.hosts.servers, 2));
  return std::clamp(kUsualLeaf / each, 1U, half) * each;
}

Made build_leaf_spine(const Asked& asked) {
  const std::uint32_t each = choose_nics_per_leaf(asked);
  const auto up = choose_uplinks(asked.spec, each * asked.spec.nic_rate.bits_per_second());
  if (!up) return refuse(up.error());
  Links links = asked.links();
  links.trunk = up->trunk;
  const auto leaves = static_cast<std::uint32_t>(divide_up(asked.nics(), each));
  return leaf_spine({leaves, up->spines, each, asked.nics()}, links);
}

// --- rails ---------------------------------------------------------------------------------------

Made build_rails(const Asked& asked, Graph (*make)(const Rails&, const Links&), Rate cable) {
  Rails shape{.servers = asked.hosts.servers, .rails = asked.hosts.nics_per_server};
  const std::uint32_t most = asked.spec.nics_per_leaf != 0 ? asked.spec.nics_per_leaf : kUsualLeaf;
  shape.servers_per_leaf = std::min(most, shape.servers);
  const auto up = choose_uplinks(asked.spec, shape.servers_per_leaf * cable.bits_per_second());
  if (!up) return refuse(up.error());
  shape.spines = up->spines;
  Links links = asked.links();
  links.rate = cable;
  links.trunk = up->trunk;
  return make(shape, links);
}

Made build_rail_only(const Asked& asked) {
  const std::uint32_t room = asked.spec.nics_per_leaf;
  if (room != 0 && room < asked.hosts.servers) {
    return refuse("rail-only has one switch for each rail, with room for nics_per_leaf = " +
                  text_of(room) + " servers, the scenario has " + text_of(asked.hosts.servers) +
                  "; use nics_per_leaf = " + text_of(asked.hosts.servers) +
                  ", or rail-optimised, which has spines");
  }
  if (asked.spec.spines != 0) {
    return refuse("rail-only has no spines, the scenario has " + text_of(asked.spec.spines) +
                  "; use rail-optimised");
  }
  return rails({asked.hosts.servers, asked.hosts.nics_per_server, asked.hosts.servers, 0},
               asked.links());
}

// --- fat tree ------------------------------------------------------------------------------------

std::uint64_t fat_tree_room(std::uint64_t k) { return k * k * k / 4; }

std::uint32_t smallest_fat_tree(std::uint64_t nics) {
  std::uint32_t k = 2;
  while (fat_tree_room(k) < nics) k += 2;
  return k;
}

Made build_fat_tree(const Asked& asked) {
  const std::uint32_t fits = smallest_fat_tree(asked.nics());
  const std::uint32_t k = asked.spec.ports_per_switch != 0 ? asked.spec.ports_per_switch : fits;
  constexpr std::uint32_t kMostPorts = 256;
  if (k < 2 || k % 2 != 0 || k > kMostPorts) {
    return refuse("ports_per_switch = " + text_of(k) + ": a fat tree needs an even number, 2 to " +
                  text_of(kMostPorts) + "; " + text_of(fits) + " has room for " +
                  text_of(fat_tree_room(fits)) + " NICs");
  }
  if (fat_tree_room(k) < asked.nics()) {
    return refuse("fat tree of k = " + text_of(k) + " has room for " + text_of(fat_tree_room(k)) +
                  " NICs, the scenario has " + text_of(asked.nics()) + ": ports_per_switch = " +
                  text_of(fits) + " has room for " + text_of(fat_tree_room(fits)));
  }
  return fat_tree(k, asked.links(), asked.nics());
}

// --- dragonfly -----------------------------------------------------------------------------------

std::uint64_t dragonfly_room(std::uint64_t a, std::uint64_t p, std::uint64_t h) {
  return a * p * (a * h + 1);
}

// Balanced: a = 2p = 2h.
std::uint32_t smallest_dragonfly(std::uint64_t nics) {
  std::uint32_t h = 1;
  while (dragonfly_room(2 * h, h, h) < nics) ++h;
  return h;
}

Made build_dragonfly(const Asked& asked) {
  const NetworkSpec& spec = asked.spec;
  const std::uint32_t fits = smallest_dragonfly(asked.nics());
  Dragonfly shape{.nics = asked.nics()};
  const std::uint32_t half = spec.routers_per_group / 2;
  shape.cables_out = spec.cables_out_of_router != 0 ? spec.cables_out_of_router
                     : spec.nics_per_router != 0    ? spec.nics_per_router
                     : half != 0                    ? half
                                                    : fits;
  shape.nics_per_router = spec.nics_per_router != 0 ? spec.nics_per_router : shape.cables_out;
  shape.routers = spec.routers_per_group != 0 ? spec.routers_per_group : 2 * shape.cables_out;
  constexpr std::uint32_t kMost = 1024;
  if (std::max({shape.routers, shape.nics_per_router, shape.cables_out}) > kMost) {
    return refuse(
        "dragonfly: routers_per_group, nics_per_router and cables_out_of_router are at "
        "most " +
        text_of(kMost));
  }
  const std::uint64_t room = dragonfly_room(shape.routers, shape.nics_per_router, shape.cables_out);
  if (room < asked.nics()) {
    return refuse("dragonfly of a = " + text_of(shape.routers) +
                  ", p = " + text_of(shape.nics_per_router) + ", h = " + text_of(shape.cables_out) +
                  " has room for " + text_of(room) + " NICs, the scenario has " +
                  text_of(asked.nics()) + ": routers_per_group = " + text_of(2 * fits) +
                  ", nics_per_router = " + text_of(fits) + ", cables_out_of_router = " +
                  text_of(fits) + " has room for " + text_of(dragonfly_room(2 * fits, fits, fits)));
  }
  shape.groups = static_cast<std::uint32_t>(
      divide_up(asked.nics(), std::uint64_t{shape.routers} * shape.nics_per_router));
  return dragonfly(shape, asked.links());
}

// --- the others ----------------------------------------------------------------------------------

Made build_dumbbell(const Asked& asked) {
  constexpr std::uint32_t kMost = 1023;
  if (asked.spec.trunks == 0 || asked.spec.trunks > kMost) {
    return refuse("trunks = " + text_of(asked.spec.trunks) + ": a dumbbell has from 1 to " +
                  text_of(kMost) + " cables between its switches");
  }
  return dumbbell(asked.nics(), asked.spec.trunks, asked.links());
}

Made build_from_file(const Asked& asked) {
  Made read = read_graph(asked.spec.file);
  if (!read) return read;
  const auto nics = std::ranges::count(read->nodes, NodeKind::kNic, &GraphNode::kind);
  if (static_cast<std::uint64_t>(nics) != asked.nics()) {
    return refuse(asked.spec.file + " has " + std::to_string(nics) + " NICs, the scenario has " +
                  text_of(asked.hosts.servers) + " servers of " +
                  text_of(asked.hosts.nics_per_server));
  }
  return read;
}

Made build_shape(const Asked& asked) {
  switch (asked.spec.topology) {
    case TopologyKind::kStar:
      return star(asked.nics(), asked.links());
    case TopologyKind::kDumbbell:
      return build_dumbbell(asked);
    case TopologyKind::kLeafSpine:
      return build_leaf_spine(asked);
    case TopologyKind::kFatTree:
      return build_fat_tree(asked);
    case TopologyKind::kRailOptimised:
      return build_rails(asked, rails, asked.spec.nic_rate);
    case TopologyKind::kRailOnly:
      return build_rail_only(asked);
    case TopologyKind::kDualPlane:
      return build_rails(asked, dual_plane,
                         Rate::bits_per_second(asked.spec.nic_rate.bits_per_second() / 2));
    case TopologyKind::kDragonfly:
      return build_dragonfly(asked);
    case TopologyKind::kFile:
      return build_from_file(asked);
  }
  return refuse("no such topology");
}

}  // namespace

Result<Graph, std::string> build_network(const NetworkSpec& spec, const NetworkHosts& hosts) {
  if (hosts.servers == 0 || hosts.nics_per_server == 0) {
    return refuse("the network has no NICs; it needs at least one server with one NIC");
  }
  const std::uint64_t nics = std::uint64_t{hosts.servers} * hosts.nics_per_server;
  if (nics > kMostNics) {
    return refuse(text_of(nics) + " NICs: at most " + text_of(kMostNics) + " can be simulated");
  }
  if (auto why = objection_to(spec)) return refuse(*why);
  Made made = build_shape({spec, hosts});
  if (!made) return made;
  for (Cable& cable : made->cables) cable.kind = spec.switches.kind;
  if (auto why = objection_to(*made, spec)) return refuse(*why);
  return made;
}

}  // namespace nerve::sim
