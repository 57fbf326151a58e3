// The scenario of a candidate: what each choice means in keys of a scenario.
#include <fmt/format.h>

#include <algorithm>

#include "sim/plan/candidate.h"
#include "sim/scenario/document_text.h"
#include "sim/scenario/scenario_file.h"
#include "sim/scenario/units.h"
#include "sim/scenario/words.h"

namespace nerve::sim::plan {
namespace {

using scenario_file::Node;

class Keys {
 public:
  explicit Keys(const Node& document) : document_{document} {}

  void set(std::string key, std::string value) {
    all_.push_back({std::move(key), std::move(value)});
  }
  // Whether the plan file has one of these words for the key.
  [[nodiscard]] bool has(std::string_view table, std::string_view key,
                         std::initializer_list<std::string_view> words) const {
    const Node* node = document_.find(table);
    const Node* value = node == nullptr ? nullptr : node->find(key);
    return value != nullptr && std::ranges::find(words, value->text) != words.end();
  }
  // Unless the plan file has the key.
  void propose(std::string_view table, std::string_view key, std::string value) {
    const Node* node = document_.find(table);
    if (node != nullptr && node->find(key) != nullptr) return;
    set(fmt::format("{}.{}", table, key), std::move(value));
  }
  [[nodiscard]] std::vector<Override> take() { return std::move(all_); }

 private:
  const Node& document_;
  std::vector<Override> all_;
};

void add_network(NetworkKind kind, Keys& keys) {
  switch (kind) {
    case NetworkKind::kInfiniBand:
      keys.set("fabric.link", "infiniband");
      keys.set("nic.recovery", "selective-repeat");  // adaptive routing reorders packets
      keys.propose("fabric", "routing", "adaptive");
      keys.propose("fabric", "lane_buffer", "128 KiB");
      return;
    case NetworkKind::kRoce:
      if (keys.has("fabric", "routing", {"spray", "adaptive"})) {
        keys.set("nic.recovery", "selective-repeat");  // as above
      }
      keys.propose("nic", "congestion", "dcqcn");
      keys.propose("nic", "qps_per_pair", "4");
      return;
    case NetworkKind::kLossyRoce:
      keys.set("fabric.pfc", "false");
      keys.set("nic.recovery", "selective-repeat");
      keys.propose("nic", "congestion", "dcqcn");
      keys.propose("nic", "qps_per_pair", "4");
      return;
    case NetworkKind::kTcp:
      keys.set("nic.transport", "tcp");
      keys.propose("nic", "qps_per_pair", "4");
      return;
  }
}

std::uint32_t divided_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

// How many of `room` ports face downwards when the others carry 1 / ratio of their capacity.
std::uint32_t downwards(std::uint32_t room, double ratio) {
  return static_cast<std::uint32_t>(room * ratio / (1 + ratio) + 1e-9);
}

// Servers in `most` or fewer per group, as evenly as possible.
std::uint32_t even_share(std::uint32_t servers, std::uint32_t most) {
  return divided_up(servers, divided_up(servers, std::max(most, 1U)));
}

std::string add_leaf_spine(const Candidate& one, std::uint32_t room, Keys& keys) {
  const std::uint32_t servers = downwards(room, one.oversubscription) / one.nics_per_server;
  if (servers == 0) {
    return fmt::format(
        "a leaf with {} ports has no room for the {} NICs of a server and its uplinks", room,
        one.nics_per_server);
  }
  if (servers >= one.servers) return "one leaf would do; single-switch is the same without spines";
  keys.set("fabric.nics_per_leaf",
           std::to_string(even_share(one.servers, servers) * one.nics_per_server));
  return {};
}

std::string add_rails(const Candidate& one, std::uint32_t room, Keys& keys) {
  const std::uint32_t servers = downwards(room, one.oversubscription);
  keys.set("fabric.nics_per_leaf", std::to_string(even_share(one.servers, servers)));
  return {};
}

// Returns why the switches cannot build it.
std::string add_shape(const Candidate& one, const Part& part, Keys& keys) {
  const std::uint32_t room = ports_at(part, one.nic_rate);
  if (room == 0) {
    return fmt::format("the ports of {} are slower than NICs of {}", part.name,
                       scenario_file::rate_text(one.nic_rate));
  }
  keys.set("fabric.topology",
           std::string{scenario_file::name_of(one.topology, scenario_file::kTopologies)});
  if (one.oversubscription != 1) {
    keys.set("fabric.oversubscription", scenario_file::number_text(one.oversubscription));
  }
  switch (one.topology) {
    case TopologyKind::kStar:
      if (one.nics() <= room) return {};
      return fmt::format("one switch has {} ports, and there are {} NICs", room, one.nics());
    case TopologyKind::kLeafSpine:
      return add_leaf_spine(one, room, keys);
    case TopologyKind::kRailOptimised:
      return add_rails(one, room, keys);
    case TopologyKind::kDualPlane: {  // a NIC has two cables of half its rate
      const Rate half = Rate::bits_per_second(one.nic_rate.bits_per_second() / 2);
      return add_rails(one, ports_at(part, half), keys);
    }
    case TopologyKind::kRailOnly:
      if (one.servers <= room) return {};
      return fmt::format("the switch of a rail has {} ports, and there are {} servers", room,
                         one.servers);
    default:
      return {};  // the smallest that fits
  }
}

void add_parallelism(const Candidate& one, const PlanSpec& spec, Keys& keys) {
  if (!one.parallelism) return;
  const Node* jobs = spec.scenario.find("job");
  const bool is_list = jobs != nullptr && jobs->type == scenario_file::NodeType::kList;
  const std::size_t count = jobs == nullptr ? 0 : is_list ? jobs->children.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Node& job = is_list ? jobs->children[i] : *jobs;
    const Node* kind = job.find("kind");
    if (kind == nullptr || kind->text != "training") continue;
    const std::string path = job_path(spec, i);
    keys.set(path + ".parallelism.tensor", std::to_string(one.parallelism->tensor));
    keys.set(path + ".parallelism.pipeline", std::to_string(one.parallelism->pipeline));
    keys.set(path + ".micro_batches", std::to_string(one.micro_batches));
  }
}

}  // namespace

std::string job_path(const PlanSpec& spec, std::size_t number) {
  const Node* jobs = spec.scenario.find("job");
  const bool is_list = jobs != nullptr && jobs->type == scenario_file::NodeType::kList;
  return is_list ? fmt::format("job.{}", number) : "job";
}

Result<std::vector<Override>, std::string> overrides_of(const Candidate& candidate,
                                                        const PlanSpec& spec,
                                                        const Prices& prices) {
  Keys keys{spec.scenario};
  keys.set("servers.count", std::to_string(candidate.servers));
  keys.set("servers.gpus", std::to_string(candidate.gpus_per_server));
  keys.set("servers.nics", std::to_string(candidate.nics_per_server));
  keys.set("fabric.nic_rate", scenario_file::rate_text(candidate.nic_rate));
  const std::string why = add_shape(candidate, prices.parts[candidate.switch_part], keys);
  if (!why.empty()) return Unexpected{why};
  add_network(candidate.network, keys);
  if (spec.scenario.find("until") == nullptr) keys.set("until", "1 h");  // steps can be long
  add_parallelism(candidate, spec, keys);
  return keys.take();
}

Result<Scenario, std::vector<ScenarioError>> scenario_of(const PlanSpec& spec,
                                                         const std::vector<Override>& overrides) {
  return read_scenario(spec.scenario, spec.file, overrides);
}

std::string scenario_text(const PlanSpec& spec, const std::vector<Override>& overrides) {
  Node document = spec.scenario;
  for (const Override& one : overrides) (void)scenario_file::apply(document, one);
  return scenario_file::text_of(document);
}

}  // namespace nerve::sim::plan
