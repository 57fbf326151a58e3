// Goal: `nerve run --summary` behaves as the program that it started, and prints the summary of one
// that could not do it itself. Method: records that are values; the built `nerve` with programs
// that end in different ways.
#include "cli/run_parent.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cli/program.h"
#include "tests/cli/samples.h"

namespace nerve::cli {
namespace {

constexpr pid_t kRun = 100;

host::ProcessRecord dead(pid_t pid) {
  host::ProcessRecord record = test::process_record(pid, "prog");
  record.alive = false;
  record.run = kRun;
  host::DeviceCounters counters;
  counters.transports.shm_bytes = 4096;
  counters.transports.shm_frames = 1;
  record.devices = {{.name = "nerve0", .counters = counters}};
  return record;
}

constexpr const char* kNothing =
    "nerve: no program of this run opened an RDMA device: nothing went by RDMA\n";

}  // namespace

TEST(RunParent, PrintsTheSummaryOfAProgramThatWasKilled) {
  host::Records records;
  records.processes = {dead(7)};
  std::vector<pid_t> printed;
  // Its record shows that it is dead before the parent knows why.
  EXPECT_TRUE(missing_summaries(records, kRun, 7, std::nullopt, printed).empty());
  EXPECT_EQ(missing_summaries(records, kRun, 7, SIGKILL, printed),
            std::vector<std::string>{
                "pid 7 prog: shm 4.1 KB (1 packets, 2 copies per byte), udp 0, direct 0, received "
                "0, 0 retransmitted; killed by SIGKILL"});
  EXPECT_TRUE(missing_summaries(records, kRun, 7, SIGKILL, printed).empty());  // once
}

TEST(RunParent, LeavesOutThoseThatNeedNone) {
  host::Records records;
  records.processes = {dead(7), dead(8), dead(9), dead(10), dead(11)};
  records.processes[0].alive = true;
  records.processes[1].summarised = true;
  records.processes[2].run = kRun + 1;
  records.processes[3].devices.clear();
  std::vector<pid_t> printed;
  const std::vector<std::string> lines = missing_summaries(records, kRun, 7, 0, printed);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("pid 11 "));
  EXPECT_TRUE(lines[0].ends_with("; it ended without a summary of its own"));
}

TEST(RunParent, EndsAsTheProgramDoes) {
  const test::Outcome seven = test::nerve("run --summary -- sh -c 'echo x; exit 7'");
  EXPECT_EQ(seven.exit_code, 7);
  EXPECT_EQ(seven.text, std::string{"x\n"} + kNothing);
  EXPECT_EQ(test::nerve("run --summary -- /none/such").exit_code, 127);
  // The shell of the test sees the signal, and says 128 and its number.
  const test::Outcome killed =
      test::nerve("run --summary -- sh -c 'kill -TERM $$' 2>/dev/null; exit $?");
  EXPECT_EQ(killed.exit_code, 128 + SIGTERM);
}

TEST(RunParent, ForwardsSignalsToTheProgram) {
  const test::Outcome told = test::nerve(
      "--help >/dev/null; timeout --foreground --preserve-status -s TERM 1 " NERVE_PROGRAM
      " run --summary -- sh -c 'trap \"echo heard; exit 5\" TERM; while :; do sleep 0.1; done'");
  EXPECT_EQ(told.exit_code, 5) << told.text;
  EXPECT_TRUE(told.text.starts_with("heard\n")) << told.text;
}

}  // namespace nerve::cli
