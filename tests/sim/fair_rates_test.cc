// Goal: rates are max-min fair after every change. Method: shares worked out by hand, and random
// worlds in which no link is overloaded and every flow has a bottleneck.
#include "sim/fluid/fair_rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/prng.h"
#include "tests/seeds.h"

namespace nerve::sim::fair_rates_test {
namespace {

using Number = FairRates::Number;

Number flow_over(FairRates& rates, const std::vector<Number>& links) {
  std::vector<FairRates::Use> path;
  for (const Number link : links) path.push_back({link});
  const Number flow = rates.add_flow();
  rates.set_path(flow, path);
  rates.begin(flow);
  return flow;
}

// The definition of max-min fairness, for every active flow.
void expect_fair(const FairRates& rates) {
  std::vector<std::int64_t> load(rates.links());
  std::vector<std::int64_t> fastest(rates.links());
  for (Number flow = 0; flow < rates.flows(); ++flow) {
    if (!rates.active(flow)) {
      EXPECT_EQ(rates.rate(flow), 0);
      continue;
    }
    for (const FairRates::Hop& hop : rates.path(flow)) {
      load[hop.link] += rates.rate(flow) * hop.weight / FairRates::kWhole;
      fastest[hop.link] = std::max(fastest[hop.link], rates.rate(flow));
    }
  }
  for (Number link = 0; link < rates.links(); ++link) {
    EXPECT_EQ(load[link], rates.load(link)) << "link " << link;
    EXPECT_LE(load[link], rates.capacity(link)) << "link " << link;
  }
  for (Number flow = 0; flow < rates.flows(); ++flow) {
    if (!rates.active(flow)) continue;
    const auto is_bottleneck = [&](const FairRates::Hop& hop) {
      const std::int64_t slack = 100 + (rates.capacity(hop.link) >> 18U);
      return load[hop.link] + slack >= rates.capacity(hop.link) &&
             rates.rate(flow) + slack >= fastest[hop.link];
    };
    EXPECT_TRUE(std::ranges::any_of(rates.path(flow), is_bottleneck))
        << "flow " << flow << " at " << rates.rate(flow) << " kb/s has no bottleneck";
  }
}

}  // namespace

TEST(FairRates, OneBottleneckIsSharedEvenly) {
  FairRates rates;
  const Number link = rates.add_link(90'000);
  std::vector<Number> flows;
  for (int i = 0; i < 3; ++i) flows.push_back(flow_over(rates, {link}));
  rates.settle();
  for (const Number flow : flows) EXPECT_EQ(rates.rate(flow), 30'000);
  EXPECT_EQ(rates.load(link), 90'000);
  EXPECT_EQ(rates.most_flows(link), 3U);
  rates.end(flows[1]);
  rates.settle();
  EXPECT_EQ(rates.rate(flows[0]), 45'000);
  EXPECT_EQ(rates.rate(flows[1]), 0);
  EXPECT_EQ(rates.rate(flows[2]), 45'000);
}

TEST(FairRates, WhatOneBottleneckLeavesIsUsedAtTheOther) {
  FairRates rates;
  const Number narrow = rates.add_link(20'000);
  const Number wide = rates.add_link(100'000);
  const Number both = flow_over(rates, {narrow, wide});
  const Number also_narrow = flow_over(rates, {narrow});
  const Number only_wide = flow_over(rates, {wide});
  rates.settle();
  EXPECT_EQ(rates.rate(both), 10'000);
  EXPECT_EQ(rates.rate(also_narrow), 10'000);
  EXPECT_EQ(rates.rate(only_wide), 90'000);
}

// The long flow gets the share of the most crowded link, the others what is left on theirs.
TEST(FairRates, ParkingLot) {
  FairRates rates;
  std::vector<Number> links;
  for (int i = 0; i < 3; ++i) links.push_back(rates.add_link(120'000));
  const Number through = flow_over(rates, links);
  const Number first = flow_over(rates, {links[0]});
  const Number second = flow_over(rates, {links[1]});
  std::vector<Number> third;
  for (int i = 0; i < 3; ++i) third.push_back(flow_over(rates, {links[2]}));
  rates.settle();
  EXPECT_EQ(rates.rate(through), 30'000);
  EXPECT_EQ(rates.rate(first), 90'000);
  EXPECT_EQ(rates.rate(second), 90'000);
  for (const Number flow : third) EXPECT_EQ(rates.rate(flow), 30'000);
  // Without the crowd, the long flow shares each link with one other.
  for (const Number flow : third) rates.end(flow);
  rates.settle();
  EXPECT_EQ(rates.rate(through), 60'000);
  EXPECT_EQ(rates.rate(first), 60'000);
  EXPECT_EQ(rates.rate(second), 60'000);
}

TEST(FairRates, AFlowThatIsDividedLoadsEachLinkByItsPart) {
  FairRates rates;
  const Number nic = rates.add_link(100'000);
  const Number left = rates.add_link(30'000);
  const Number right = rates.add_link(100'000);
  const Number flow = rates.add_flow();
  rates.set_path(flow, std::vector<FairRates::Use>{
                           {nic}, {left, FairRates::kWhole / 2}, {right, FairRates::kWhole / 2}});
  rates.begin(flow);
  rates.settle();
  EXPECT_EQ(rates.rate(flow), 60'000);
  EXPECT_EQ(rates.load(left), 30'000);
  EXPECT_EQ(rates.load(right), 30'000);
}

TEST(FairRates, ACapacityThatChangesMovesTheBottleneck) {
  FairRates rates;
  const Number a = rates.add_link(100'000);
  const Number b = rates.add_link(100'000);
  const Number through = flow_over(rates, {a, b});
  const Number beside = flow_over(rates, {b});
  rates.settle();
  EXPECT_EQ(rates.rate(through), 50'000);
  rates.set_capacity(a, 10'000);
  rates.settle();
  EXPECT_EQ(rates.rate(through), 10'000);
  EXPECT_EQ(rates.rate(beside), 90'000);
  rates.set_capacity(a, 0);
  rates.settle();
  EXPECT_EQ(rates.rate(through), 0);
  EXPECT_EQ(rates.rate(beside), 100'000);
}

TEST(FairRates, ReportsWhatChanged) {
  FairRates rates;
  const Number a = rates.add_link(100'000);
  const Number b = rates.add_link(100'000);
  const Number first = flow_over(rates, {a});
  const Number other = flow_over(rates, {b});
  rates.settle();
  const Number second = flow_over(rates, {a});
  rates.settle();
  ASSERT_EQ(rates.changed_flows().size(), 2U);
  for (const FairRates::Change& change : rates.changed_flows()) {
    EXPECT_NE(change.number, other);
    EXPECT_EQ(change.before, change.number == first ? 100'000 : 0);
  }
  EXPECT_EQ(rates.rate(second), 50'000);
  // A flow that ends and begins again at the same instant changes nothing.
  rates.end(second);
  rates.begin(second);
  rates.settle();
  EXPECT_TRUE(rates.changed_flows().empty());
}

// The other flows of a large world are not visited when one of them changes.
TEST(FairRates, AChangeCostsOnlyItsNeighbourhood) {
  FairRates rates;
  constexpr Number kPairs = 10'000;
  std::vector<Number> flows;
  for (Number i = 0; i < kPairs; ++i) {
    const Number link = rates.add_link(100'000);
    flows.push_back(flow_over(rates, {link}));
    flows.push_back(flow_over(rates, {link}));
  }
  rates.settle();
  const std::uint64_t before = rates.flows_filled();
  rates.end(flows[7]);
  rates.settle();
  EXPECT_LE(rates.flows_filled() - before, 2U);
  EXPECT_EQ(rates.rate(flows[6]), 100'000);
}

TEST(FairRates, RandomWorldsStayFair) {
  nerve::test::for_each_seed(200, [](std::uint64_t seed) {
    Prng prng{seed};
    FairRates rates;
    const auto links = static_cast<Number>(prng.between(1, 30));
    for (Number i = 0; i < links; ++i) {
      rates.add_link(static_cast<std::int64_t>(prng.between(1, 100) * 1'000'000));
    }
    const auto flows = static_cast<Number>(prng.between(1, 60));
    std::vector<Number> order(links);
    std::iota(order.begin(), order.end(), 0U);
    for (Number i = 0; i < flows; ++i) {
      const Number flow = rates.add_flow();
      std::vector<FairRates::Use> path;
      const std::uint64_t hops = prng.between(1, std::min<std::uint64_t>(links, 6));
      for (std::size_t k = 0; k < hops; ++k) {
        std::swap(order[k], order[k + prng.below(links - k)]);
        const bool whole = prng.chance(700);
        path.push_back({order[k], whole ? FairRates::kWhole
                                        : static_cast<std::uint32_t>(prng.between(100, 200'000))});
      }
      rates.set_path(flow, path);
    }
    for (int step = 0; step < 100 && !testing::Test::HasFailure(); ++step) {
      const std::uint64_t changes = prng.between(1, prng.chance(100) ? flows : 3);
      for (std::uint64_t i = 0; i < changes; ++i) {
        const auto flow = static_cast<Number>(prng.below(flows));
        if (rates.active(flow)) {
          rates.end(flow);
        } else {
          rates.begin(flow);
        }
      }
      if (prng.chance(100)) {
        rates.set_capacity(static_cast<Number>(prng.below(links)),
                           static_cast<std::int64_t>(prng.below(100) * 1'000'000));
      }
      rates.settle();
      expect_fair(rates);
    }
  });
}

}  // namespace nerve::sim::fair_rates_test
