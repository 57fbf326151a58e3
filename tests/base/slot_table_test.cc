// A table against a map from handles to values, and the time a number stays unused before reuse.
#include "base/slot_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/prng.h"
#include "tests/seeds.h"

namespace nerve {
namespace {

// Neither copyable nor movable: like a QP, it is identified by its address.
struct Pinned {
  explicit Pinned(int v) : value{v} {}
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  int value;
};

TEST(SlotTable, ForgetsAHandleWhenItsObjectDies) {
  SlotTable<Pinned> table{1};
  const auto [first, object] = table.emplace(1);
  EXPECT_EQ(table.find(first), &object);
  EXPECT_TRUE(table.full());
  table.erase(first);
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_EQ(table.at(first.index), nullptr);

  const auto second = table.emplace(2).first;
  EXPECT_EQ(second.index, first.index);
  EXPECT_NE(second, first);
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_EQ(table.find(second)->value, 2);
}

TEST(SlotTable, FindsNothingBehindWhatWasNeverAHandle) {
  SlotTable<Pinned> table{100};
  EXPECT_EQ(table.find({}), nullptr);
  EXPECT_EQ(table.at(0), nullptr);
  static_cast<void>(table.emplace(1));
  EXPECT_FALSE(Handle<Pinned>{});
  EXPECT_EQ(table.find({}), nullptr);
  EXPECT_EQ(table.find({.index = 99, .generation = 1}), nullptr);
  EXPECT_EQ(table.find({.index = ~0U, .generation = 1}), nullptr);
  EXPECT_EQ(table.at(~0U), nullptr);
  EXPECT_EQ(table.place_of(99), nullptr);
}

TEST(SlotTable, RunsTheDestructorAtOnce) {
  SlotTable<std::shared_ptr<int>> table{4};
  auto shared = std::make_shared<int>(1);
  const auto handle = table.emplace(shared).first;
  EXPECT_EQ(shared.use_count(), 2);
  table.erase(handle);
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(SlotTable, ReusesANumberAsLateAsPossible) {
  SlotTable<int> table{4};
  std::vector<Handle<int>> handles;
  for (int i = 0; i < 4; ++i) handles.push_back(table.emplace(i).first);
  for (const std::size_t i : {2U, 0U, 3U}) table.erase(handles[i]);
  for (const std::uint32_t oldest_first : {2U, 0U, 3U}) {
    EXPECT_EQ(table.emplace(0).first.index, oldest_first);
  }
}

TEST(SlotTable, VisitsInIndexOrder) {
  SlotTable<std::uint32_t> table{200};
  for (std::uint32_t i = 0; i < 150; ++i) static_cast<void>(table.emplace(i));
  for (const std::uint32_t hole : {0U, 63U, 64U, 149U}) table.erase({hole, 1});
  std::vector<std::uint32_t> seen;
  table.for_each([&](std::uint32_t value) { seen.push_back(value); });
  EXPECT_EQ(seen.size(), 146U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

// A visitor may erase the visited object, which is how an engine closes everything.
TEST(SlotTable, AllowsErasureDuringAVisit) {
  struct Named {
    std::uint32_t index;
  };
  SlotTable<Named> table{10};
  for (std::uint32_t i = 0; i < 10; ++i) static_cast<void>(table.emplace(Named{i}));
  table.for_each([&](Named& object) { table.erase({object.index, 1}); });
  EXPECT_EQ(table.size(), 0U);
}

TEST(SlotTable, AgreesWithTheModel) {
  test::for_each_seed(200, [](std::uint64_t seed) {
    Prng prng{seed};
    const auto limit = static_cast<std::uint32_t>(prng.between(1, 300));
    SlotTable<Pinned> table{limit};
    struct Known {
      Handle<Pinned> handle;
      Pinned* object;
      int value;
    };
    std::vector<Known> live;
    std::vector<Handle<Pinned>> dead;
    const auto grow_chance = static_cast<std::uint32_t>(prng.between(450, 700));
    for (int step = 0; step < 1'500; ++step) {
      ASSERT_EQ(table.full(), live.size() == limit);
      if (!table.full() && (live.empty() || prng.chance(grow_chance))) {
        const auto [handle, object] = table.emplace(step);
        ASSERT_LT(handle.index, limit);
        live.push_back({handle, &object, step});
      } else {
        const std::size_t which = prng.below(live.size());
        table.erase(live[which].handle);
        dead.push_back(live[which].handle);
        live[which] = live.back();
        live.pop_back();
      }
      ASSERT_EQ(table.size(), live.size());
      if (!dead.empty()) {
        ASSERT_EQ(table.find(dead[prng.below(dead.size())]), nullptr);
      }
      if (!live.empty()) {
        const Known& known = live[prng.below(live.size())];
        ASSERT_EQ(table.find(known.handle), known.object);
        ASSERT_EQ(table.at(known.handle.index), known.object);
        ASSERT_EQ(table.place_of(known.handle.index), known.object);
        ASSERT_EQ(known.object->value, known.value);
      }
    }
  });
}

TEST(SlotTable, OthersFindTheirsWhileObjectsComeAndGo) {
  constexpr int kObjects = 20'000;
  SlotTable<Pinned> table{kObjects + 1};
  const auto [mine, object] = table.emplace(-1);
  std::atomic<bool> over{};
  std::thread other{[&table, mine, &object, &over] {
    while (!over) {
      ASSERT_EQ(table.find(mine), &object);
      ASSERT_EQ(object.value, -1);
    }
  }};
  for (int i = 0; i < kObjects; ++i) {
    const auto made = table.emplace(i);
    if (i % 3 == 0) table.erase(made.first);
  }
  over = true;
  other.join();
}

}  // namespace
}  // namespace nerve
