// Goal: `nerve stat` prints each value of a report in its column. Method: the table by values.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/stat_table.h"

namespace nerve::cli {
namespace {

host::ProcessReport busy() {
  host::ProcessReport report;
  report.pid = 4711;
  report.answered = true;
  host::read_report(
      "program ib_write_bw\nshm_bytes_sent 1200000000\nshm_packets_sent 312000\n"
      "direct_bytes 8000\ndirect_times 1000\nretransmitted 2\ntimeouts 1\n"
      "sequence_naks_received 3\nrnr_naks_sent 4\ndropped_no_qp 5\ndropped_bad_pkey 6\n"
      "udp_bad_icrc 7\n",
      report);
  return report;
}

}  // namespace

TEST(StatTable, ARowForEachProcess) {
  host::ProcessReport stopped;
  stopped.pid = 12;
  stopped.program = "ib_read_bw";
  const std::string table = stat_table(std::vector{busy(), stopped}, std::nullopt);
  EXPECT_NE(table.find("    4711  ib_write_bw          1.2 GB / 312 k                  -"
                       "     8.0 KB / 1.0 k         0       2        1      3/4      18\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("      12  ib_read_bw        does not answer"), std::string::npos) << table;
}

TEST(StatTable, ShowsTheRateSinceTheLastReport) {
  const SentBefore before{{4711, 200'008'000}};
  const std::string table = stat_table(std::vector{busy()}, Since{.sent = before, .seconds = 0.5});
  EXPECT_NE(table.find(" 2.0 GB/s\n"), std::string::npos) << table;
  // A process that was not there before, or whose pid was reused, has no rate.
  const SentBefore later{{4711, 9'000'000'000}};
  EXPECT_NE(stat_table(std::vector{busy()}, Since{.sent = later, .seconds = 1}).find(" -\n"),
            std::string::npos);
}

TEST(StatTable, JsonHasEveryCounter) {
  const auto json = nlohmann::json::parse(stat_json(busy()));
  EXPECT_EQ(json["pid"], 4711);
  EXPECT_EQ(json["program"], "ib_write_bw");
  EXPECT_EQ(json["answers"], true);
  EXPECT_EQ(json["shm_bytes_sent"], 1'200'000'000U);
}

}  // namespace nerve::cli
