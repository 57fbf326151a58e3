#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "tests/seeds.h"
#include "tests/seeds/plan.h"
#include "tests/seeds/progress.h"
#include "tests/seeds/workers.h"

namespace nerve::test {
namespace {

// Up to this many seeds are not worth a process.
constexpr std::uint64_t kFew = 8;

std::string test_name() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  return std::string{info->test_suite_name()} + "." + info->name();
}

std::string replay(std::uint64_t seed) {
  return "replay: NERVE_SEED=" + std::to_string(seed) + " ./nerve test " + test_name() +
         "  (NERVE_TRACE=1 shows packets)";
}

bool passes(const Property& property, std::uint64_t seed) {
  SCOPED_TRACE(replay(seed));
  property(seed);
  return !::testing::Test::HasFailure();
}

std::optional<SeedPlan> plan_for(std::uint64_t count) {
  std::string error;
  const SeedPlan plan = plan_seeds(
      count, [](const char* name) -> const char* { return std::getenv(name); }, error);
  if (error.empty()) return plan;
  ADD_FAILURE() << error;
  return std::nullopt;
}

void try_here(const SeedPlan& plan, const Property& property) {
  SeedProgress progress{std::getenv("NERVE_PROGRESS"), test_name(), plan.count()};
  for (std::uint64_t tried = 0; tried < plan.count(); ++tried) {
    const std::uint64_t seed = plan.first + tried;
    if (!passes(property, seed)) {  // the first bad seed is enough to debug
      progress.failed(seed);
      return;
    }
    progress.tried(tried + 1);
  }
}

}  // namespace

bool tracing() {
  const char* value = std::getenv("NERVE_TRACE");
  return value != nullptr && std::strtoull(value, nullptr, 0) != 0;
}

void for_each_seed(std::uint64_t count, const Property& property) {
  if (const auto plan = plan_for(count)) try_here(*plan, property);
}

void for_each_seed_in_parallel(std::uint64_t count, const Property& property) {
  const auto plan = plan_for(count);
  if (!plan || ::testing::Test::HasFailure()) return;
  if (plan->count() <= kFew) {
    try_here(*plan, property);
    return;
  }
  SeedProgress progress{std::getenv("NERVE_PROGRESS"), test_name(), plan->count()};
  const SeedRun run =
      run_in_workers(*plan, {.passes = [&](std::uint64_t seed) { return passes(property, seed); },
                             .failed = [&](const FailedSeed& bad) { progress.failed(bad.seed); },
                             .progress = [&](std::uint64_t tried) { progress.tried(tried); }});
  for (const FailedSeed& bad : run.failed) {
    ADD_FAILURE() << "seed " << bad.seed << " " << bad.how << "; " << replay(bad.seed);
  }
  if (run.failed.empty()) {
    EXPECT_EQ(run.tried, plan->count());
  }
}

}  // namespace nerve::test
