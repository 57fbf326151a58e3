#include "controller/link_loads.h"

#include "base/check.h"

namespace nerve::controller {
namespace {

constexpr std::uint64_t kUnit = 1U << 20U;  // of the fastest link

}  // namespace

LinkLoads::LinkLoads(const std::vector<Cable>& cables) {
  for (const Cable& cable : cables) {
    rates_[cable.between] = cable.rate;
    rates_[{.from = cable.between.to, .to = cable.between.from}] = cable.rate;
    fastest_ = std::max(fastest_, cable.rate);
  }
}

void LinkLoads::add(std::span<const Link> links) {
  for (const Link& link : links) ++flows_[link];
  if (!links.empty()) ++version_;
}

void LinkLoads::remove(std::span<const Link> links) {
  for (const Link& link : links) {
    const auto found = flows_.find(link);
    CHECK(found != flows_.end() && found->second > 0);
    if (--found->second == 0) flows_.erase(found);
  }
  if (!links.empty()) ++version_;
}

std::uint32_t LinkLoads::flows(const Link& link) const {
  const auto found = flows_.find(link);
  return found == flows_.end() ? 0 : found->second;
}

Rate LinkLoads::rate(const Link& link) const {
  const auto found = rates_.find(link);
  return found == rates_.end() ? Rate{} : found->second;
}

std::uint64_t LinkLoads::unit(const Link& link) const {
  const Rate known = rate(link);
  if (known == Rate{}) return kUnit;
  const auto times = static_cast<double>(fastest_.bits_per_second()) /
                     static_cast<double>(known.bits_per_second());
  constexpr double kSlowest = 1 << 20;  // so that sums stay far from overflow
  return static_cast<std::uint64_t>(static_cast<double>(kUnit) * std::min(times, kSlowest));
}

PathCost LinkLoads::cost(std::span<const Link> links, std::span<const Link> own,
                         std::span<const Link> unavoidable) const {
  PathCost cost;
  for (const Link& link : links) {
    if (contains(unavoidable, link)) continue;
    const std::uint64_t others = flows(link) - (contains(own, link) ? 1U : 0U);
    const std::uint64_t here = (others + 1) * unit(link);
    cost.most = std::max(cost.most, here);
    cost.sum += here;
  }
  return cost;
}

}  // namespace nerve::controller
