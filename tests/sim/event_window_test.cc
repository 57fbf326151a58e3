// Goal: a window hands out each event once, group by group, and within a group in the order that
// events have without groups. Method: random schedules with few and many events in a window, which
// schedule more for their own group; the same events on a wheel of each group.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "base/prng.h"
#include "sim/core/event_wheel.h"
#include "sim/groups.h"
#include "sim/topology/topologies.h"

namespace nerve::sim::event_window_test {
namespace {

enum class Kind : std::uint8_t { kTick, kTock };
using Wheel = EventWheel<Kind>;

constexpr Duration kWindow{300'000};
constexpr std::uint32_t kGroups = 7;

std::uint32_t group_of(Kind, std::uint32_t subject) { return subject % kGroups; }

// What follows from an event: an event for the same subject, maybe in the same window, and one for
// any subject, at least a window later. A function of the event, whatever the order of the others.
struct Follow {
  Time when;
  std::uint32_t subject;
};
std::vector<Follow> follow(const Event<Kind>& event) {
  Prng prng{event.when.picoseconds() ^ std::uint64_t{event.argument} << 40U};
  static constexpr std::uint64_t kReach[] = {2, 2000, 200'000, 30'000'000, 2'000'000'000};
  const auto delay = [&] {
    return Duration{static_cast<std::int64_t>(prng.below(kReach[prng.below(5)]))};
  };
  // Groups schedule nothing for the same time as each other: the order would be theirs.
  const auto own = [&](Time when) {
    const std::uint64_t group = group_of(event.kind, event.subject);
    return Time{Duration{static_cast<std::int64_t>(when.picoseconds() / 8 * 8 + 8 + group)}};
  };
  std::vector<Follow> all;
  if (prng.chance(600)) all.push_back({own(event.when + delay()), event.subject});
  if (prng.chance(350)) {
    const auto subject = static_cast<std::uint32_t>(prng.below(40));
    all.push_back({own(event.when + kWindow + delay()), subject});
  }
  return all;
}

using History = std::vector<std::vector<Event<Kind>>>;  // per group

void happen(const Event<Kind>& event, std::deque<Wheel>& wheels, History& history) {
  const std::uint32_t group = group_of(event.kind, event.subject);
  history[group].push_back(event);
  if (history[group].size() > 400) return;
  for (const Follow& one : follow(event)) {
    Wheel& wheel = wheels[wheels.size() == 1 ? 0 : group_of(event.kind, one.subject)];
    const Kind kind = event.argument % 3 == 0 ? Kind::kTock : Kind::kTick;
    wheel.at(one.when, kind, one.subject, event.argument + 1);
  }
}

void begin(std::uint64_t seed, std::deque<Wheel>& wheels) {
  Prng prng{seed};
  // Many events at one time and in one slot are sorted in another way than few.
  const std::uint64_t spread = seed % 3 == 0 ? 3 : seed % 3 == 1 ? 900 : 500'000;
  for (std::uint64_t i = prng.between(1, seed % 2 == 0 ? 12 : 900); i > 0; --i) {
    const auto subject = static_cast<std::uint32_t>(prng.below(40));
    Wheel& wheel = wheels[wheels.size() == 1 ? 0 : subject % kGroups];
    wheel.at(Time{Duration{static_cast<std::int64_t>(prng.below(spread))}}, Kind::kTick, subject);
  }
}

// The first event of all wheels decides when a window begins.
std::optional<Time> due(const std::deque<Wheel>& wheels) {
  std::optional<Time> first;
  for (const Wheel& wheel : wheels) {
    if (const auto one = wheel.due(); one && (!first || *one < *first)) first = one;
  }
  return first;
}

History run_by_group(std::uint64_t seed) {
  std::deque<Wheel> wheels(1);
  Wheel& wheel = wheels[0];
  History history(kGroups);
  begin(seed, wheels);
  while (const auto first = due(wheels)) {
    const Time end = *first + kWindow;
    const std::uint64_t before = wheel.executed();
    wheel.open_window(end, kGroups, group_of);
    std::vector<std::uint32_t> turns;
    Event<Kind> event;
    while (wheel.next_in_window(event)) {
      EXPECT_EQ(wheel.now(), event.when);
      EXPECT_LT(event.when, end);
      const std::uint32_t group = group_of(event.kind, event.subject);
      if (turns.empty() || turns.back() != group) turns.push_back(group);
      happen(event, wheels, history);
    }
    EXPECT_EQ(wheel.now(), end - Duration{1});
    if (wheel.executed() - before > 400) {  // enough for groups: each has one turn
      std::ranges::sort(turns);
      EXPECT_EQ(std::ranges::adjacent_find(turns), turns.end()) << "seed " << seed;
    }
  }
  EXPECT_TRUE(wheel.empty());
  return history;
}

History run_apart(std::uint64_t seed) {
  std::deque<Wheel> wheels(kGroups);
  History history(kGroups);
  begin(seed, wheels);
  while (const auto first = due(wheels)) {
    for (Wheel& wheel : wheels) {
      Event<Kind> event;
      while (wheel.next(*first + kWindow - Duration{1}, event)) happen(event, wheels, history);
    }
  }
  return history;
}

}  // namespace

TEST(EventWindow, EachGroupHasTheHistoryThatItHasAlone) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const History together = run_by_group(seed);
    const History apart = run_apart(seed);
    for (std::uint32_t group = 0; group < kGroups; ++group) {
      ASSERT_EQ(together[group].size(), apart[group].size()) << "seed " << seed;
      for (std::size_t i = 0; i < apart[group].size(); ++i) {
        const Event<Kind>& a = together[group][i];
        const Event<Kind>& b = apart[group][i];
        ASSERT_EQ(a.when, b.when) << "seed " << seed;
        ASSERT_EQ(a.kind, b.kind) << "seed " << seed;
        ASSERT_EQ(a.subject, b.subject) << "seed " << seed;
        ASSERT_EQ(a.argument, b.argument) << "seed " << seed;
      }
    }
  }
}

TEST(EventWindow, EventsAfterTheEndStayOnTheWheel) {
  Wheel wheel;
  for (std::int64_t i = 0; i < 40; ++i) {  // in one slot
    wheel.at(Time{Duration{5000 + i}}, Kind::kTick, static_cast<std::uint32_t>(i));
  }
  Event<Kind> event;
  for (const std::int64_t end : {5013, 5014, 6000}) {
    wheel.open_window(Time{Duration{end}}, kGroups, group_of);
    while (wheel.next_in_window(event)) EXPECT_LT(event.when, Time{Duration{end}});
    if (end == 5013) {
      EXPECT_EQ(wheel.pending(), 27U);
      EXPECT_EQ(wheel.due(), Time{Duration{5013}});
      wheel.at(Time{Duration{5020}}, Kind::kTick, 1);  // between two windows
    }
  }
  EXPECT_EQ(wheel.executed(), 41U);
  EXPECT_TRUE(wheel.empty());
}

TEST(Groups, ANodeIsAGroupUnlessAShortCableConnectsIt) {
  const Links links{.delay = std::chrono::nanoseconds{100},
                    .trunk_delay = std::chrono::nanoseconds{500}};
  const Graph graph = fat_tree(4, links);
  std::vector<std::uint16_t> part(graph.nodes.size());
  const auto count = static_cast<std::uint32_t>(graph.nodes.size());
  EXPECT_EQ(Groups(graph, std::chrono::nanoseconds{100}, part).count(0), count);
  // Shorter than the window: the 16 NICs join their switches.
  const Groups joined{graph, std::chrono::nanoseconds{300}, part};
  EXPECT_EQ(joined.count(0), count - 16);
  for (std::uint32_t port = 0; port < graph.ports(); ++port) {
    const NodeId here = graph.node_at(PortId{port});
    const NodeId there = graph.node_at(Graph::other_end(PortId{port}));
    const bool together = joined.of(Happening::kArrive, port) ==
                          joined.of(Happening::kArrive, Graph::other_end(PortId{port}).value());
    const bool has_nic = graph.nodes[here.value()].kind == NodeKind::kNic ||
                         graph.nodes[there.value()].kind == NodeKind::kNic;
    EXPECT_EQ(together, has_nic) << "port " << port;
    EXPECT_EQ(joined.of(Happening::kNicTimer, here.value()), joined.of(Happening::kPause, port));
  }
  // With two parts, the groups of each are numbered from zero.
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = i % 2 == 0 ? 0 : 1;
  const Groups divided{graph, std::chrono::nanoseconds{100}, part};
  EXPECT_EQ(divided.count(0) + divided.count(1), count);
  for (std::uint32_t node = 0; node < count; ++node) {
    EXPECT_EQ(divided.of(Happening::kPost, node), node / 2);
  }
}

}  // namespace nerve::sim::event_window_test
