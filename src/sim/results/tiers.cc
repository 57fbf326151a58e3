#include "sim/results/tiers.h"

#include <map>
#include <utility>

namespace nerve::sim {
namespace {

// pod3-leaf12 becomes pod-leaf.
std::string without_digits(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c < '0' || c > '9') text += c;
  }
  return text;
}

}  // namespace

std::vector<std::string> tier_names(std::span<const NodeResult> nodes) {
  std::vector<std::string> names;
  std::vector<bool> differ;
  for (const NodeResult& node : nodes) {
    if (node.tier >= names.size()) {
      names.resize(node.tier + std::size_t{1});
      differ.resize(names.size());
    }
    const std::string own = without_digits(node.name);
    std::string& name = names[node.tier];
    if (name.empty()) name = own;
    if (name != own) differ[node.tier] = true;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!differ[i] && !names[i].empty()) continue;
    names[i] = i == 0 ? "nic" : "tier" + std::to_string(i);
  }
  return names;
}

std::vector<LinkGroup> group_links(std::span<const NodeResult> nodes,
                                   std::span<const LinkResult> links) {
  const std::vector<std::string> names = tier_names(nodes);
  std::map<std::pair<std::uint16_t, std::uint16_t>, LinkGroup> groups;
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    const std::uint16_t from = nodes[links[i].from].tier;
    const std::uint16_t to = nodes[links[i].to].tier;
    LinkGroup& group = groups[{from, to}];
    if (group.links.empty()) group = {from, to, names[from] + ">" + names[to], {}};
    group.links.push_back(i);
  }
  std::vector<LinkGroup> all;
  all.reserve(groups.size());
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

std::string link_name(std::span<const NodeResult> nodes, const LinkResult& link) {
  return nodes[link.from].name + ">" + nodes[link.to].name;
}

}  // namespace nerve::sim
