// Goal: in every round each number is worked on once, and run() returns when all are done.
#include "sim/crew.h"

#include <gtest/gtest.h>

#include <array>

namespace nerve::sim {

TEST(Crew, WorksOnEachNumberOnceInARound) {
  std::array<std::uint32_t, 5> done{};
  Crew crew{5, [&](std::uint32_t number) { ++done[number]; }};
  for (std::uint32_t round = 1; round <= 10'000; ++round) {
    crew.run();
    for (const std::uint32_t one : done) ASSERT_EQ(one, round);
  }
}

TEST(Crew, OfOneHasNoThreads) {
  const std::thread::id here = std::this_thread::get_id();
  std::uint32_t done = 0;
  Crew crew{1, [&](std::uint32_t) {
              EXPECT_EQ(std::this_thread::get_id(), here);
              ++done;
            }};
  crew.run();
  EXPECT_EQ(done, 1U);
}

}  // namespace nerve::sim
