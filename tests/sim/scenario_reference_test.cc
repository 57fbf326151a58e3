// docs/scenarios.md lists every key with its values, default and meaning, as the reader has them;
// units are parsed as documented.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "sim/scenario/reference.h"
#include "sim/scenario/units.h"

namespace nerve::sim {

TEST(ScenarioReference, DocumentationListsEveryKey) {
  std::ifstream in{NERVE_SOURCE_DIR "/docs/scenarios.md"};
  const std::string page{std::istreambuf_iterator<char>{in}, {}};
  std::string missing;
  std::string table;
  for (const ScenarioKey& key : scenario_keys()) {
    if (page.find(markdown_row(key)) != std::string::npos) continue;
    if (key.table != table) missing += "\n" + key.table + "\n\n";
    table = key.table;
    missing += markdown_row(key) + "\n";
  }
  EXPECT_EQ(missing, "") << "docs/scenarios.md lacks these rows";
}

TEST(ScenarioReference, EveryKeyIsExplainedOnce) {
  std::set<std::string> seen;
  for (const ScenarioKey& key : scenario_keys()) {
    EXPECT_TRUE(seen.insert(key.table + key.name).second) << key.table << key.name;
    EXPECT_FALSE(key.takes.empty()) << key.name;
    EXPECT_FALSE(key.meaning.empty()) << key.name;
    EXPECT_FALSE(key.fallback.empty()) << key.table << key.name;
  }
  EXPECT_GT(seen.size(), 100U);
}

namespace scenario_file {

TEST(ScenarioUnits, ParsesAmountsWithUnits) {
  EXPECT_EQ(parse_rate("400 Gb/s"), Rate::gigabits(400));
  EXPECT_EQ(parse_rate("400Gbps"), Rate::gigabits(400));
  EXPECT_EQ(parse_rate("12.5 GB/s"), Rate::gigabits(100));
  EXPECT_EQ(parse_rate("0.1 Mb/s"), Rate::bits_per_second(100'000));
  EXPECT_EQ(parse_time("2.5 ms"), std::chrono::microseconds{2500});
  EXPECT_EQ(parse_time("100 ns"), std::chrono::nanoseconds{100});
  EXPECT_EQ(parse_time("0.7 us"), std::chrono::nanoseconds{700});
  EXPECT_EQ(parse_bytes("64 MB"), 64'000'000U);
  EXPECT_EQ(parse_bytes("4 KiB"), 4096U);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 3U << 29U);
  for (const char* bad : {"", " ", "4", "KB", "4 kb", "-1 KB", "1e400 KB", "nan KB", "inf KB",
                          "1 KB ", " 1 KB", "1 KB/s", "0x10 KB", "1e30 TB"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

TEST(ScenarioUnits, RoundTripsAmounts) {
  for (const std::uint64_t n : {0ULL, 1ULL, 999ULL, 1000ULL, 4096ULL, 400'000ULL, 33'554'432ULL,
                                123'456'789ULL, 1ULL << 50U}) {
    EXPECT_EQ(parse_bytes(bytes_text(n)), n) << bytes_text(n);
    EXPECT_EQ(parse_rate(rate_text(Rate::bits_per_second(n))), Rate::bits_per_second(n));
    const Duration time{static_cast<std::int64_t>(n)};
    EXPECT_EQ(parse_time(time_text(time)), time) << time_text(time);
  }
  EXPECT_EQ(bytes_text(33'554'432), "32 MiB");
  EXPECT_EQ(bytes_text(400'000), "400 KB");
  EXPECT_EQ(rate_text(Rate::gigabits(3600)), "3600 Gb/s");
}

}  // namespace scenario_file
}  // namespace nerve::sim
