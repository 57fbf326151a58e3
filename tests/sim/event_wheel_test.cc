// Goal: events come in time order, however far ahead they were scheduled; the order of events with
// equal times depends on nothing but their subjects and the time. Method: random schedules,
// compared with a sorted map, and with the same events on two wheels.
#include "sim/core/event_wheel.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "base/prng.h"

namespace nerve::sim::event_wheel_test {
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

TEST(EventWheel, RunsInOrderOfTimeAndEqualEventsInThatOfScheduling) {
  Wheel wheel;
  wheel.at(ps(5000), Kind::kTick, 1, 1);
  wheel.at(ps(100), Kind::kTick, 1, 2);
  wheel.at(ps(5000), Kind::kTick, 1, 3);
  wheel.at(ps(900'000'000), Kind::kTick, 1, 4);
  wheel.at(ps(4999), Kind::kTick, 1, 5);
  for (const std::uint32_t expected : {2U, 5U, 1U, 3U, 4U}) {
    EXPECT_EQ(next(wheel)->argument, expected);
  }
  EXPECT_FALSE(next(wheel));
  EXPECT_EQ(wheel.now(), ps(900'000'000));
}

TEST(EventWheel, TheOrderOfEqualTimesDoesNotDependOnOtherEvents) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Prng prng{seed};
    Wheel all;
    Wheel some;  // the even subjects, scheduled backwards
    std::vector<std::pair<Time, std::uint32_t>> events;
    for (std::uint32_t subject = 0; subject < 1000; ++subject) {
      events.emplace_back(ps(static_cast<std::int64_t>(prng.below(5) * 20'000'000)), subject);
    }
    for (const auto& [when, subject] : events) all.at(when, Kind::kTick, subject);
    for (auto one = events.rbegin(); one != events.rend(); ++one) {
      if (one->second % 2 == 0) some.at(one->first, Kind::kTick, one->second);
    }
    while (const auto event = next(all)) {
      if (event->subject % 2 != 0) continue;
      ASSERT_EQ(next(some)->subject, event->subject) << "seed " << seed;
    }
    EXPECT_TRUE(some.empty());
  }
}

TEST(EventWheel, KnowsWhenTheNextIsDue) {
  Wheel wheel;
  EXPECT_FALSE(wheel.due());
  wheel.at(ps(900'000'000), Kind::kTick, 1);
  EXPECT_EQ(wheel.due(), ps(900'000'000));
  wheel.at(ps(5003), Kind::kTick, 2);
  wheel.at(ps(5001), Kind::kTick, 3);
  EXPECT_EQ(wheel.due(), ps(5001));
  wheel.skip_to(ps(5000));
  EXPECT_EQ(wheel.now(), ps(5000));
  ASSERT_TRUE(next(wheel));
  EXPECT_EQ(wheel.due(), ps(5003));
  wheel.at(ps(5002), Kind::kTick, 4);
  EXPECT_EQ(wheel.due(), ps(5002));
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

// Slots are opened ahead. What is scheduled into them afterwards still comes in its turn, also
// where the lower half of the time wraps.
TEST(EventWheel, TakesEventsForSlotsThatAreOpen) {
  constexpr std::int64_t kWrap = std::int64_t{1} << 32U;
  for (const std::int64_t start : {std::int64_t{0}, kWrap - 10'000}) {
    Wheel wheel;
    wheel.skip_to(ps(start));
    for (std::uint32_t i = 0; i < 10; ++i) wheel.at(ps(start + 2000 * i), Kind::kTick, 2 * i);
    EXPECT_EQ(next(wheel)->subject, 0U);
    for (std::uint32_t i = 0; i < 10; ++i) {
      wheel.at(ps(start + 2000 * i + 1000), Kind::kTick, 2 * i + 1);
    }
    for (std::uint32_t i = 1; i < 20; ++i) EXPECT_EQ(next(wheel)->subject, i) << start;
    EXPECT_TRUE(wheel.empty());
  }
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
    using Model = std::multimap<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t>;
    Model model;  // names, by time and subject; equal ones in order
    std::uint32_t name = 0;
    const auto schedule = [&] {
      // Mostly near, often the same time, sometimes far beyond the wheel.
      static constexpr std::uint64_t kReach[] = {1, 3000, 1'000'000, 60'000'000, 10'000'000'000};
      const std::uint64_t delay = prng.below(kReach[prng.below(5)]);
      const Time when = wheel.now() + Duration{static_cast<std::int64_t>(delay)};
      const auto subject = static_cast<std::uint32_t>(prng.below(4));
      wheel.at(when, Kind::kTick, subject, ++name);
      model.emplace(std::pair{when.picoseconds(), subject}, name);
    };
    for (int i = 0; i < 200; ++i) schedule();
    while (!model.empty()) {
      ASSERT_EQ(wheel.due()->picoseconds(), model.begin()->first.first) << "seed " << seed;
      const auto event = next(wheel);
      ASSERT_TRUE(event);
      ASSERT_EQ(event->when.picoseconds(), model.begin()->first.first) << "seed " << seed;
      const auto found = model.find({event->when.picoseconds(), event->subject});
      ASSERT_NE(found, model.end()) << "seed " << seed;
      ASSERT_EQ(event->argument, found->second) << "seed " << seed;
      model.erase(found);
      if (name < 3000) {
        for (std::uint64_t more = prng.below(3); more > 0; --more) schedule();
      }
    }
    EXPECT_TRUE(wheel.empty());
  }
}

}  // namespace nerve::sim::event_wheel_test
