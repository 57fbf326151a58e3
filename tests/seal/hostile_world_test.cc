// Goal: whatever somebody on the path does, a packet is accepted once, unchanged, and only while
// its epoch lasts; and he cannot keep two peers from opening once he lets packets through.
#include <gtest/gtest.h>

#include "tests/seal/hostile_world.h"
#include "tests/seeds.h"

namespace nerve::seal {
namespace {

TEST(HostileWorlds, AcceptOnlyWhatWasSentAndOnce) {
  test::for_each_seed_in_parallel(3'000, [](std::uint64_t seed) {
    for (const std::string& violation : run_hostile_world(seed)) ADD_FAILURE() << violation;
  });
}

}  // namespace
}  // namespace nerve::seal
