// `nerve stat`: the traffic of this user's running programs, per transport.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/commands.h"
#include "cli/sample.h"
#include "cli/stat_table.h"

namespace nerve::cli {
namespace {

using Clock = std::chrono::steady_clock;
using host::ProcessReport;

constexpr const char* kStatFooter = R"(
One line per program: payload and packets sent through shared memory (shm), as RoCEv2 over UDP (udp),
and written directly into a peer's memory or read from it (direct); payload received; packets
retransmitted; timeouts; NAKs received and sent; packets dropped for any reason.

--watch prints again every SECONDS, with the rate of each program; Ctrl-C ends it.
--json prints one object per line with all counters of a program.

Exit code: 0  also if no program runs
           1  one of the PIDs was not found

Examples:
    nerve stat
    nerve stat --watch 1
    nerve stat --json 4711 | jq .retransmitted)";

struct StatOptions {
  std::vector<pid_t> pids;
  double watch{};
  bool json{};
};

std::vector<ProcessReport> look(const StatOptions& options, host::RecordReader& records) {
  std::vector<ProcessReport> reports = take_sample(records).processes;
  if (options.pids.empty()) return reports;
  std::erase_if(reports, [&](const ProcessReport& report) {
    return std::ranges::find(options.pids, report.pid) == options.pids.end();
  });
  return reports;
}

bool all_there(const StatOptions& options, const std::vector<ProcessReport>& reports) {
  bool all = true;
  for (const pid_t pid : options.pids) {
    if (std::ranges::find(reports, pid, &ProcessReport::pid) != reports.end()) continue;
    fmt::print(stderr, "nerve stat: {}: no process of yours that uses nerve; try: nerve stat\n",
               pid);
    all = false;
  }
  return all;
}

void print(const StatOptions& options, const std::vector<ProcessReport>& reports,
           const std::optional<Since>& since) {
  if (options.json) {
    for (const ProcessReport& report : reports) fmt::print("{}", stat_json(report));
  } else if (!reports.empty()) {
    fmt::print("{}", stat_table(reports, since));
  } else if (options.pids.empty()) {
    fmt::print("no program of yours uses nerve now; try: nerve run -- ib_write_bw\n");
  }
  (void)std::fflush(stdout);
}

int stat(const StatOptions& options) {
  host::RecordReader records;
  std::vector<ProcessReport> reports = look(options, records);
  print(options, reports, std::nullopt);
  bool all = all_there(options, reports);
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  while (options.watch > 0) {
    const SentBefore before = bytes_sent(reports);
    const auto started = Clock::now();
    std::this_thread::sleep_for(std::chrono::duration<double>{options.watch});
    reports = look(options, records);
    const std::chrono::duration<double> passed = Clock::now() - started;
    if (!options.json) fmt::print("{}", terminal ? "\033[H\033[2J" : "\n");
    print(options, reports, Since{.sent = before, .seconds = passed.count()});
    all = all_there(options, reports);
    if (!all || std::ferror(stdout) != 0) break;  // what was watched is over, or the reader is gone
  }
  return all ? kExitOk : kExitFailed;
}

}  // namespace

void add_stat(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<StatOptions>();
  CLI::App* command = program.add_subcommand("stat", "Show what running programs send and receive");
  command->add_option("PID", options->pids, "only these processes");
  command->add_option("--watch", options->watch, "look again every SECONDS")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86400.0));
  command->add_flag("--json", options->json, "JSON, one object per line");
  command->footer(kStatFooter);
  command->callback([options, &exit_code] { exit_code = stat(*options); });
}

}  // namespace nerve::cli
