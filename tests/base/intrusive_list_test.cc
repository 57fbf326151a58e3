#include "base/intrusive_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

#include "base/prng.h"
#include "tests/seeds.h"

namespace nerve {
namespace {

struct Item {
  ListHook<Item> ready{};
  ListHook<Item> waiting{};
};
using Ready = IntrusiveList<Item, &Item::ready>;
using Waiting = IntrusiveList<Item, &Item::waiting>;

TEST(IntrusiveList, IsFirstInFirstOut) {
  Ready list;
  std::array<Item, 3> items;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.front(), nullptr);
  for (Item& item : items) list.push_back(item);
  for (Item& item : items) {
    EXPECT_EQ(list.front(), &item);
    list.remove(item);
  }
  EXPECT_TRUE(list.empty());
}

TEST(IntrusiveList, KeepsHooksApart) {
  Ready ready;
  Waiting waiting;
  Item item;
  ready.push_back(item);
  waiting.push_back(item);
  ready.remove(item);
  EXPECT_FALSE(Ready::contains(item));
  EXPECT_TRUE(Waiting::contains(item));
  EXPECT_EQ(waiting.front(), &item);
}

TEST(IntrusiveList, AgreesWithTheModel) {
  test::for_each_seed(200, [](std::uint64_t seed) {
    Prng prng{seed};
    std::array<Item, 12> items;
    Ready list;
    std::deque<Item*> model;
    for (int step = 0; step < 400; ++step) {
      Item& item = items[prng.below(items.size())];
      const auto found = std::find(model.begin(), model.end(), &item);
      ASSERT_EQ(Ready::contains(item), found != model.end());
      if (found == model.end()) {
        list.push_back(item);
        model.push_back(&item);
      } else {
        list.remove(item);
        model.erase(found);
      }
      ASSERT_EQ(list.empty(), model.empty());
      ASSERT_EQ(list.front(), model.empty() ? nullptr : model.front());
    }
    // Check the whole order by removing all items.
    for (Item* expected : model) {
      ASSERT_EQ(list.front(), expected);
      list.remove(*expected);
    }
  });
}

TEST(IntrusiveListDeathTest, ChecksItsOwnersBookkeeping) {
  Ready list;
  Item item;
  EXPECT_DEATH(list.remove(item), "CHECK failed");
  list.push_back(item);
  EXPECT_DEATH(list.push_back(item), "CHECK failed");
}

}  // namespace
}  // namespace nerve
