// Goal: the events of a window come out in order of time, and equal ones in the order in which they
// came in. Method: random pushes and pops, beside a list that is searched from the beginning.
#include "sim/core/window_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/prng.h"
#include "tests/seeds.h"

namespace nerve::sim::window_queue_test {
namespace {

struct Item {
  Time when;
  std::uint32_t kind{};
  std::uint32_t number{};  // how many were pushed before
  [[nodiscard]] bool precedes(const Item& o) const {
    return when != o.when ? when < o.when : kind < o.kind;
  }
};

Time at(std::uint64_t picoseconds) {
  return Time{Duration{static_cast<std::int64_t>(picoseconds)}};
}

TEST(WindowQueue, AgreesWithAList) {
  nerve::test::for_each_seed(200, [](std::uint64_t seed) {
    Prng prng{seed};
    WindowQueue<Item> queue;
    const auto by_order = [](const Item& a, const Item& b) { return a.precedes(b); };
    std::uint64_t begin = prng.below(1'000'000);
    for (std::uint32_t window = 0; window < 5; ++window) {
      static constexpr std::uint64_t kLengths[] = {1, 2, 63, 64, 65, 4'095, 300'000, 5'000'000'000};
      const std::uint64_t length = kLengths[prng.below(std::size(kLengths))];
      queue.open(at(begin), at(begin + length));
      std::uint64_t reached = begin;
      std::vector<Item> list;
      for (std::uint32_t left = 400; left > 0 || !list.empty();) {
        ASSERT_EQ(queue.empty(), list.empty());
        if (left > 0 && (list.empty() || prng.chance(550))) {
          const std::uint64_t room = begin + length - reached;
          const std::uint64_t reach = prng.chance(300) ? room : std::min<std::uint64_t>(room, 3);
          const Item item{at(reached + prng.below(reach)),
                          static_cast<std::uint32_t>(prng.below(3)), left--};
          queue.push(item);
          list.push_back(item);
        } else {
          const auto first = std::ranges::min_element(list, by_order);
          ASSERT_EQ(queue.front().number, first->number);
          reached = std::max(reached, first->when.picoseconds());
          queue.pop();
          list.erase(first);
        }
      }
      begin += length;
    }
  });
}

}  // namespace
}  // namespace nerve::sim::window_queue_test
