// Goal: whatever the network and the programs do, every connect ends once, on both sides as the
// standard allows, with the right private data, and nothing is left. Method: random worlds of
// connection managers, each made from one seed.
#include <gtest/gtest.h>

#include "tests/dst/cm_world.h"
#include "tests/seeds.h"

namespace nerve::dst {
namespace {

TEST(CmWorlds, EveryConnectEnds) {
  test::for_each_seed_in_parallel(4000, [](std::uint64_t seed) {
    const Outcome outcome =
        run_connections(seed, {.carriage = Carriage::kValues, .trace = test::tracing()});
    for (const std::string& violation : outcome.violations) ADD_FAILURE() << violation;
  });
}

// The same while somebody forges requests, and with IDs in a secret order.
TEST(CmWorlds, EveryConnectEndsInSpiteOfAStranger) {
  test::for_each_seed_in_parallel(4000, [](std::uint64_t seed) {
    const Outcome outcome = run_connections(seed, {.carriage = Carriage::kValues,
                                                   .trace = test::tracing(),
                                                   .stranger = true,
                                                   .scatter = seed % 2 == 0});
    for (const std::string& violation : outcome.violations) ADD_FAILURE() << violation;
  });
}

TEST(CmWorlds, ValuesAndBytesMeanTheSame) {
  test::for_each_seed_in_parallel(100, [](std::uint64_t seed) {
    const Outcome bytes = run_connections(seed, {.carriage = Carriage::kBytes});
    const Outcome values = run_connections(seed, {.carriage = Carriage::kValues});
    EXPECT_EQ(bytes.history, values.history);
    EXPECT_EQ(bytes.history, run_connections(seed).history);
  });
}

}  // namespace
}  // namespace nerve::dst
