// Goal: a sender uses paths again that worked, and avoids the others. Method: the ports of packets,
// and what is said about them.
#include "nic/flow_control/entropies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace nerve::nic {
namespace {

constexpr std::uint16_t kQp = 0xc9a5;
using Fate = Entropies::Fate;

std::multiset<std::uint16_t> take(Entropies& entropies, std::size_t count) {
  std::multiset<std::uint16_t> ports;
  while (ports.size() < count) ports.insert(entropies.next_port(kQp));
  return ports;
}

}  // namespace

TEST(Entropies, EachRoundUsesEachValueOnceInAnotherOrder) {
  Entropies entropies{16};
  std::vector<std::vector<std::uint16_t>> rounds(4);
  for (auto& round : rounds) {
    for (int i = 0; i < 16; ++i) round.push_back(entropies.next_port(kQp));
    const std::set<std::uint16_t> different{round.begin(), round.end()};
    EXPECT_EQ(different.size(), 16U);
    EXPECT_EQ(*different.begin(), kQp & ~15);
    EXPECT_EQ(*different.rbegin(), kQp | 15);
  }
  EXPECT_NE(rounds[0], rounds[1]);
  EXPECT_NE(rounds[1], rounds[2]);
}

TEST(Entropies, AGoodValueIsUsedAgainFirst) {
  Entropies entropies{16};
  entropies.learn(kQp, 0xc9a3, Fate::kGood);
  entropies.learn(kQp, 0xc9a7, Fate::kGood);
  EXPECT_EQ(entropies.next_port(kQp), 0xc9a3);
  EXPECT_EQ(entropies.next_port(kQp), 0xc9a7);
  EXPECT_EQ(entropies.recycled(), 0U);
}

TEST(Entropies, ABadValueIsSkippedAsOftenAsItDeserves) {
  for (const auto& [fate, skips] :
       {std::pair{Fate::kMarked, 1}, {Fate::kTrimmed, 4}, {Fate::kLost, 15}}) {
    Entropies entropies{8};
    entropies.learn(kQp, 0xc9a2, fate);
    // 7 values in each round that skips it.
    const auto before = take(entropies, 7U * static_cast<unsigned>(skips));
    EXPECT_EQ(before.count(0xc9a2), 0U) << skips;
    EXPECT_EQ(take(entropies, 8).count(0xc9a2), 1U) << skips;
  }
}

TEST(Entropies, IfAllAreBadOneIsUsedAllTheSame) {
  Entropies entropies{4};
  for (std::uint16_t value = 0; value < 4; ++value) {
    entropies.learn(kQp, static_cast<std::uint16_t>((kQp & ~3) | value), Fate::kLost);
  }
  const auto ports = take(entropies, 100);
  EXPECT_EQ(ports.size(), 100U);
}

TEST(Entropies, PortsOfOthersAreIgnored) {
  Entropies entropies{16};
  entropies.learn(kQp, 0xd9a3, Fate::kGood);
  entropies.learn(kQp, 0, Fate::kGood);
  EXPECT_EQ(entropies.recycled(), 0U);
}

TEST(Entropies, RepeatedReportsDoNotGrowTheQueueForEver) {
  Entropies entropies{16};
  for (int i = 0; i < 1000; ++i) entropies.learn(kQp, 0xc9a3, Fate::kGood);
  EXPECT_EQ(entropies.recycled(), 16U);
}

TEST(Entropies, ZeroMeansNotUsed) {
  Entropies entropies{0};
  EXPECT_FALSE(entropies.used());
  entropies.learn(kQp, kQp, Fate::kGood);
}

}  // namespace nerve::nic
