// The heap against a simple model of all deadlines: order, ties in the order of arming, moves in
// both directions, disarming and removal.
#include "base/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "tests/seeds.h"

namespace nerve {
namespace {

struct Owner {
  int name{};
  Timer timer{};
};
using Heap = TimerHeap<Owner, &Owner::timer>;

constexpr Time at(std::int64_t ps) { return Time{Duration{ps}}; }

std::vector<int> drain(Heap& heap, Time now) {
  std::vector<int> names;
  while (const Owner* owner = heap.pop_expired(now)) names.push_back(owner->name);
  return names;
}

TEST(TimerHeap, IsSilentWhenNothingIsArmed) {
  Heap heap;
  EXPECT_EQ(heap.next_deadline(), std::nullopt);
  EXPECT_EQ(heap.pop_expired(at(1)), nullptr);
}

TEST(TimerHeap, FiresAtTheDeadlineAndNotBefore) {
  Heap heap;
  Owner owner;
  heap.arm(owner, at(10));
  EXPECT_EQ(heap.pop_expired(at(9)), nullptr);
  EXPECT_EQ(heap.pop_expired(at(10)), &owner);
  EXPECT_FALSE(owner.timer.armed);
  EXPECT_EQ(heap.next_deadline(), std::nullopt);
}

TEST(TimerHeap, FiresEqualDeadlinesInTheOrderOfArming) {
  Heap heap;
  std::array<Owner, 40> owners;
  for (int i = 0; i < 40; ++i) {
    owners[static_cast<std::size_t>(i)].name = i;
    heap.arm(owners[static_cast<std::size_t>(i)], at(7));
  }
  const auto names = drain(heap, at(7));
  ASSERT_EQ(names.size(), owners.size());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

// However a deadline was set, ties are broken by the last arming.
TEST(TimerHeap, TakesItsPlaceAmongEqualsFromTheLastArming) {
  {
    Heap heap;
    Owner a{1}, b{2};
    heap.arm(a, at(100));
    heap.arm(b, at(50));
    heap.arm(a, at(50));  // moved earlier, after b
    EXPECT_EQ(drain(heap, at(50)), (std::vector{2, 1}));
  }
  {
    Heap heap;
    Owner a{1}, b{2};
    heap.arm(a, at(10));
    heap.arm(a, at(50));  // moved later, before b
    heap.arm(b, at(50));
    EXPECT_EQ(drain(heap, at(50)), (std::vector{1, 2}));
  }
  {
    Heap heap;
    Owner a{1}, b{2};
    heap.arm(a, at(50));
    heap.arm(b, at(50));
    heap.arm(a, at(50));  // armed again for the same time
    EXPECT_EQ(drain(heap, at(50)), (std::vector{2, 1}));
  }
}

TEST(TimerHeap, TellsTheTrueNextDeadlineAfterALazyMove) {
  Heap heap;
  Owner a{1}, b{2};
  heap.arm(a, at(10));
  heap.arm(b, at(30));
  heap.arm(a, at(40));
  EXPECT_EQ(heap.next_deadline(), at(30));
  EXPECT_EQ(heap.pop_expired(at(20)), nullptr);
  heap.disarm(b);
  EXPECT_EQ(heap.next_deadline(), at(40));
}

TEST(TimerHeap, ForgetsADisarmedOwnerUntilItIsArmedAgain) {
  Heap heap;
  Owner owner;
  heap.arm(owner, at(10));
  heap.disarm(owner);
  EXPECT_EQ(heap.pop_expired(at(10)), nullptr);
  heap.arm(owner, at(5));
  EXPECT_EQ(heap.pop_expired(at(10)), &owner);
}

TEST(TimerHeap, OrdersAcrossTheWrapOfTime) {
  Heap heap;
  Owner before{1}, after{2};
  heap.arm(after, at(5));
  heap.arm(before, at(-5));
  EXPECT_EQ(heap.next_deadline(), at(-5));
  EXPECT_EQ(drain(heap, at(5)), (std::vector{1, 2}));
}

// A multiset of (deadline, arming), kept in order by the standard library.
class Model {
 public:
  void arm(int name, std::int64_t deadline) {
    disarm(name);
    keys_[name] = {deadline, ++armings_};
    order_[keys_[name]] = name;
  }
  void disarm(int name) {
    if (const auto key = keys_.extract(name)) order_.erase(key.mapped());
  }
  [[nodiscard]] std::optional<std::int64_t> next() const {
    if (order_.empty()) return std::nullopt;
    return order_.begin()->first.first;
  }
  int pop(std::int64_t now) {
    if (order_.empty() || order_.begin()->first.first > now) return -1;
    const int name = order_.begin()->second;
    disarm(name);
    return name;
  }

 private:
  using Key = std::pair<std::int64_t, std::uint64_t>;
  std::map<int, Key> keys_;
  std::map<Key, int> order_;
  std::uint64_t armings_{};
};

TEST(TimerHeap, AgreesWithTheModel) {
  test::for_each_seed(400, [](std::uint64_t seed) {
    Prng prng{seed};
    std::array<Owner, 50> owners;
    for (std::size_t i = 0; i < owners.size(); ++i) owners[i].name = static_cast<int>(i);
    const std::uint64_t used = prng.between(1, owners.size());
    const std::uint64_t spread = prng.chance(500) ? 8 : 1'000;  // many ties, or few
    Heap heap;
    Model model;
    std::int64_t now = 0;
    for (int step = 0; step < 600; ++step) {
      Owner& owner = owners[prng.below(used)];
      const std::uint64_t what = prng.below(100);
      if (what < 50) {
        const std::int64_t deadline = now + static_cast<std::int64_t>(prng.below(spread));
        heap.arm(owner, at(deadline));
        model.arm(owner.name, deadline);
      } else if (what < 60) {
        heap.disarm(owner);
        model.disarm(owner.name);
      } else if (what < 65) {
        heap.remove(owner);
        model.disarm(owner.name);
        ASSERT_EQ(owner.timer.place, 0U);
      } else if (what < 75) {
        const auto next = heap.next_deadline();
        ASSERT_EQ(next, model.next() ? std::optional{at(*model.next())} : std::nullopt);
      } else {
        now += static_cast<std::int64_t>(prng.below(spread / 4 + 1));
        const Owner* expired = heap.pop_expired(at(now));
        ASSERT_EQ(expired != nullptr ? expired->name : -1, model.pop(now)) << "step " << step;
      }
    }
  });
}

}  // namespace
}  // namespace nerve
