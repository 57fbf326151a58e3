// How many flows use each link of the network.
//
// A link goes from one router that answered a probe to the next one. The first begins at the host
// that sends, the last ends at the one that receives. Routers that do not answer are left out: what
// lies around them counts as one link.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/rate.h"
#include "wire/gid.h"

namespace nerve::controller {

struct Link {
  wire::Gid from{};
  wire::Gid to{};
  friend bool operator==(const Link&, const Link&) = default;
  friend auto operator<=>(const Link& a, const Link& b) {
    return a.from == b.from ? a.to.bytes <=> b.to.bytes : a.from.bytes <=> b.from.bytes;
  }
};
using Links = std::vector<Link>;

[[nodiscard]] inline bool contains(std::span<const Link> links, const Link& link) {
  return std::ranges::find(links, link) != links.end();
}

// A cable between two routers, with its rate in each direction.
struct Cable {
  Link between;
  Rate rate;
};

// What a flow would cost or costs on a path: its most used link, and all of them.
struct PathCost {
  std::uint64_t most{};
  std::uint64_t sum{};
  friend bool operator==(const PathCost&, const PathCost&) = default;
  friend auto operator<=>(const PathCost& a, const PathCost& b) {
    return a.most == b.most ? a.sum <=> b.sum : a.most <=> b.most;
  }
};

class LinkLoads {
 public:
  explicit LinkLoads(const std::vector<Cable>& cables);

  void add(std::span<const Link> links);
  void remove(std::span<const Link> links);

  [[nodiscard]] std::uint32_t flows(const Link& link) const;
  // Links that are used, with their flows.
  [[nodiscard]] const std::map<Link, std::uint32_t>& all() const { return flows_; }
  // Zero: nothing is known about it.
  [[nodiscard]] Rate rate(const Link& link) const;
  // The cost of one more flow on these links, but for those that cannot be avoided. It counts
  // already on the links of `own`.
  [[nodiscard]] PathCost cost(std::span<const Link> links, std::span<const Link> own,
                              std::span<const Link> unavoidable) const;
  // Changes whenever a load does.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  // The cost of a flow on a link, inverse to the rate.
  [[nodiscard]] std::uint64_t unit(const Link& link) const;

  std::map<Link, std::uint32_t> flows_;
  std::map<Link, Rate> rates_;  // in both directions
  Rate fastest_;
  std::uint64_t version_{};
};

}  // namespace nerve::controller
