// Max-min fair rates of flows that share links.
//
// The allocation is fair when no link carries more than its capacity and every flow has a
// bottleneck: a link on its path that is full and on which no flow is faster. Only one allocation
// has this property.
//
// A change of one flow rarely affects all others. settle() therefore refills a region: the flows
// that changed and those whose bottleneck they use. If the result breaks the property for a flow
// outside the region, that flow joins it and the region is filled again.
//
// Rates are integers in kb/s and know nothing of time. Sums are exact, so no link is ever
// overloaded; a share is rounded down, so a full link may be left with a few kb/s.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nerve::sim {

class FairRates {
 public:
  using Number = std::uint32_t;  // of a flow or a link, from zero
  static constexpr Number kNone = 0xffff'ffff;
  // The weight of a flow that sends all its bytes over the link.
  static constexpr std::uint32_t kWhole = 1U << 16U;

  struct Use {
    Number link{};
    std::uint32_t weight{kWhole};  // load on the link per unit of the flow's rate
  };
  struct Change {
    Number number{};
    std::int64_t before{};  // the rate of a flow, the load of a link
  };

  Number add_link(std::int64_t capacity);
  Number add_flow();
  void set_capacity(Number link, std::int64_t capacity);
  // The flow must not be counted. A link may occur once, and there is at least one.
  void set_path(Number flow, std::span<const Use> path);
  // Take effect with the next settle().
  void begin(Number flow);
  void end(Number flow);

  // Computes the rates for all changes since the last call.
  void settle();
  // What the last settle() changed, each once.
  [[nodiscard]] std::span<const Change> changed_flows() const { return changed_flows_; }
  [[nodiscard]] std::span<const Change> changed_links() const { return changed_links_; }

  [[nodiscard]] bool active(Number flow) const { return flows_[flow].active; }
  // Whether it is on its links; an end() since the last settle() does not count.
  [[nodiscard]] bool counted(Number flow) const { return flows_[flow].counted; }
  [[nodiscard]] std::int64_t rate(Number flow) const { return flows_[flow].rate; }
  [[nodiscard]] std::int64_t capacity(Number link) const { return links_[link].capacity; }
  [[nodiscard]] std::int64_t load(Number link) const { return links_[link].load; }
  // The largest number of flows that the link has had at a time.
  [[nodiscard]] std::uint32_t most_flows(Number link) const { return links_[link].most; }
  // Whether it has been the bottleneck of several flows at a time.
  [[nodiscard]] bool was_shared(Number link) const { return links_[link].shared; }
  [[nodiscard]] std::size_t flows() const { return flows_.size(); }
  [[nodiscard]] std::size_t links() const { return links_.size(); }
  [[nodiscard]] std::uint64_t flows_filled() const { return filled_; }  // by all calls together

  struct Hop {
    Number link{};
    std::uint32_t weight{};
    std::uint32_t at{};  // index in the link's members, while the flow is counted
  };
  [[nodiscard]] std::span<const Hop> path(Number flow) const {
    return {hops_.data() + flows_[flow].first, flows_[flow].count};
  }
  [[nodiscard]] std::vector<Number> active_on(Number link) const;

 private:
  struct Member {
    Number flow{};
    std::uint32_t hop{};  // index in hops_
  };
  struct Link {
    std::int64_t capacity{};
    std::int64_t load{};
    std::vector<Member> members;
    std::uint32_t most{};
    std::uint32_t held{};  // flows that have their bottleneck here
    bool shared{};
    // While a region is filled:
    std::uint32_t round{};
    std::uint32_t noted{};  // the call of settle() in which its load was recorded
    bool changed{};         // its flows or its capacity, since the last call
    bool resized{};         // its capacity
    std::int64_t residual{};
    std::uint64_t weight{};  // of the flows without a rate
    std::int64_t level{};    // the rate of the region's flows that have their bottleneck here
    std::int64_t fastest{};  // the largest rate of the region's flows
  };
  struct Flow {
    std::int64_t rate{};
    std::int64_t next{};  // the rate that fill() has found
    std::uint32_t first{};
    std::uint16_t count{};
    std::uint16_t room{};
    Number bottleneck{kNone};
    std::uint32_t region{};  // the call of settle() in which it joined the region
    std::uint32_t round{};   // the round in which it got its rate
    bool active{};           // what the caller wants
    bool counted{};          // among the members of its links
    bool pending{};          // begin() or end() since the last call
  };
  struct Level {
    std::int64_t share{};
    Number link{};
    bool operator<(const Level& o) const {  // the smallest share is at the top of a heap
      return share != o.share ? share > o.share : link > o.link;
    }
  };

  [[nodiscard]] std::span<Hop> hops(const Flow& flow) {
    return {hops_.data() + flow.first, flow.count};
  }
  static std::int64_t use_of(std::int64_t rate, std::uint32_t weight) {
    return weight == kWhole ? rate : rate * weight / kWhole;
  }
  static std::int64_t share_of(const Link& link);
  void mark(Number flow);
  void touch(Number link);
  void note(Number link);
  void enter(Number flow);
  void leave(Number flow);
  void hold(Flow& flow, Number link);
  void join_region(Number flow);
  void gather();
  void fill();
  void open_links();
  void fix(Number link, std::int64_t share);
  [[nodiscard]] bool widen();
  [[nodiscard]] bool is_unfair(const Link& link, Number number, const Flow& flow) const;
  void commit();

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Hop> hops_;
  std::vector<Number> pending_;  // flows
  std::vector<Number> touched_;  // links that have changed since the last call
  std::vector<Number> region_;   // flows
  std::vector<Number> open_;     // links of the region
  std::vector<Level> heap_;
  std::vector<Change> changed_flows_;
  std::vector<Change> changed_links_;
  std::uint32_t call_{};
  std::uint32_t round_{};
  std::uint64_t filled_{};
};

}  // namespace nerve::sim
