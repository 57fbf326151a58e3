// Goal: events come in time order, equal times in the order of scheduling, however far ahead they
// were scheduled. Method: random schedules, compared with a sorted map.
#include "sim/core/event_wheel.h"

#include <gtest/gtest.h>

#include <map>

#include "base/prng.h"

namespace nerve::sim {
namespace {

enum class Kind : std::uint8_t { kTick };
using Wheel = EventWheel<Kind>;

constexpr Time kEver = Time{Duration{INT64_MAX}};

Time ps(std::int64_t n) { return Time{Duration{n}}; }

std::optional<Event<Kind>> next(Wheel& wheel, Time limit = kEver) {
  Event<Kind> event;
  return wheel.next(limit, event) ? std::optional{event} : std::nullopt;
}

}  // namespace

TEST(EventWheel, RunsInOrderOfTimeThenOfScheduling) {
  Wheel wheel;
  wheel.at(ps(5000), Kind::kTick, 1);
  wheel.at(ps(100), Kind::kTick, 2);
  wheel.at(ps(5000), Kind::kTick, 3);
  wheel.at(ps(900'000'000), Kind::kTick, 4);
  wheel.at(ps(4999), Kind::kTick, 5);
  for (const std::uint32_t expected : {2U, 5U, 1U, 3U, 4U}) {
    EXPECT_EQ(next(wheel)->subject, expected);
  }
  EXPECT_FALSE(next(wheel));
  EXPECT_EQ(wheel.now(), ps(900'000'000));
}

TEST(EventWheel, StopsAtTheLimitAndContinues) {
  Wheel wheel;
  wheel.at(ps(1000), Kind::kTick, 1);
  wheel.at(ps(1001), Kind::kTick, 2);
  wheel.at(ps(1'000'000'000), Kind::kTick, 3);
  EXPECT_EQ(next(wheel, ps(1000))->subject, 1U);
  EXPECT_FALSE(next(wheel, ps(1000)));
  wheel.at(ps(1000), Kind::kTick, 4);
  EXPECT_EQ(next(wheel, ps(1000))->subject, 4U);
  EXPECT_EQ(next(wheel, ps(999'999'999))->subject, 2U);
  EXPECT_FALSE(next(wheel, ps(999'999'999)));
  wheel.at(ps(500'000'000), Kind::kTick, 5);
  EXPECT_EQ(next(wheel)->subject, 5U);
  EXPECT_EQ(next(wheel)->subject, 3U);
}

TEST(EventWheel, PastTimeMeansNow) {
  Wheel wheel;
  wheel.at(ps(7000), Kind::kTick, 1);
  ASSERT_TRUE(next(wheel));
  wheel.at(ps(3), Kind::kTick, 2);
  EXPECT_EQ(next(wheel)->when, ps(7000));
}

TEST(EventWheel, AgreesWithASortedMap) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Prng prng{seed};
    Wheel wheel;
    std::multimap<std::uint64_t, std::uint32_t> model;  // keeps the order of equal keys
    std::uint32_t name = 0;
    const auto schedule = [&] {
      // Mostly near, often the same time, sometimes far beyond the wheel.
      static constexpr std::uint64_t kReach[] = {1, 3000, 1'000'000, 60'000'000, 10'000'000'000};
      const std::uint64_t delay = prng.below(kReach[prng.below(5)]);
      const Time when = wheel.now() + Duration{static_cast<std::int64_t>(delay)};
      ++name;
      wheel.at(when, Kind::kTick, name, name * 3);
      model.emplace(when.picoseconds(), name);
    };
    for (int i = 0; i < 200; ++i) schedule();
    while (!model.empty()) {
      const auto event = next(wheel);
      ASSERT_TRUE(event);
      ASSERT_EQ(event->when.picoseconds(), model.begin()->first) << "seed " << seed;
      ASSERT_EQ(event->subject, model.begin()->second) << "seed " << seed;
      ASSERT_EQ(event->argument, event->subject * 3);
      model.erase(model.begin());
      if (name < 3000) {
        for (std::uint64_t more = prng.below(3); more > 0; --more) schedule();
      }
    }
    EXPECT_TRUE(wheel.empty());
  }
}

}  // namespace nerve::sim
