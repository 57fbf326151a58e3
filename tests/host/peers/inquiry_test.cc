// Goal: processes are found and queried, and invalid reports are ignored. Method: hostile texts,
// and forked processes: one that runs, one that is stopped.
#include "host/peers/inquiry.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/host/endpoint.h"

namespace nerve::host {

TEST(Inquiry, IgnoresInvalidLines) {
  ProcessReport report;
  read_report(
      "pid 7\nprogram a\x1b[2Jb c\nnothing\n\n x\nshm_bytes_sent 12\nbad 12x\nneg -1\n"
      "huge 99999999999999999999999\nlast 3",
      report);
  EXPECT_EQ(report.program, "a?[2Jb c");
  EXPECT_EQ(report["shm_bytes_sent"], 12U);
  EXPECT_EQ(report["last"], 3U);
  EXPECT_EQ(report["absent"], 0U);
  EXPECT_EQ(report.counters.size(), 3U) << "pid, shm_bytes_sent and last";
}

TEST(Inquiry, TakesOnlyWholeQps) {
  ProcessReport report;
  read_report(
      "qp nerve0 18 RC RTS 19 10.0.0.1 shm 5\nqp nerve0 18 RC RTS 19 10.0.0.1 shm\n"
      "qp nerve0 x RC RTS 19 10.0.0.1 shm 5\nqp nerve0 18 RC RTS 19 10.0.0.1 shm 5 6\nqp \n"
      "qp a\x1b 1 UD INIT 0 - - 0\n",
      report);
  ASSERT_EQ(report.qps.size(), 2U);
  EXPECT_EQ(report.qps[0].number, 18U);
  EXPECT_EQ(report.qps[0].peer, 19U);
  EXPECT_EQ(report.qps[0].address, "10.0.0.1");
  EXPECT_EQ(report.qps[0].path, "shm");
  EXPECT_EQ(report.qps[0].rate, 5U);
  EXPECT_EQ(report.qps[1].device, "a?");
}

namespace {

// A process with a device open; reports that through the pipe, then waits.
pid_t start_idle(int ready) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  {
    test::Endpoint endpoint{64};
    (void)!::write(ready, "r", 1);
    for (;;) ::pause();
  }
}

const ProcessReport* find(const std::vector<ProcessReport>& reports, pid_t pid) {
  const auto found = std::ranges::find(reports, pid, &ProcessReport::pid);
  return found != reports.end() ? &*found : nullptr;
}

}  // namespace

TEST(Inquiry, ListsRunningAndStoppedProcesses) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const std::array<pid_t, 2> children{start_idle(ends[1]), start_idle(ends[1])};
  char word{};
  for (int i = 0; i < 2; ++i) ASSERT_EQ(::read(ends[0], &word, 1), 1);
  ::kill(children[1], SIGSTOP);
  int status = 0;
  ::waitpid(children[1], &status, WUNTRACED);

  const auto reports = ask_processes(std::chrono::milliseconds{500});
  const ProcessReport* running = find(reports, children[0]);
  const ProcessReport* stopped = find(reports, children[1]);
  EXPECT_TRUE(running != nullptr && running->answered);
  EXPECT_TRUE(stopped != nullptr && !stopped->answered);
  if (running != nullptr) {
    EXPECT_EQ(running->program, "nerve_test_host");
    EXPECT_EQ((*running)["devices"], 1U);
    EXPECT_GT((*running)["qps"], 0U);
    EXPECT_EQ((*running)["qps"], running->qps.size());
  }
  if (stopped != nullptr) {
    EXPECT_EQ(stopped->program, "nerve_test_host");
  }

  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(find(ask_processes(std::chrono::milliseconds{500}), children[0]), nullptr);
}

}  // namespace nerve::host
