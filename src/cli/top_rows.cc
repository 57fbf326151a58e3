#include "cli/top_rows.h"

#include <algorithm>
#include <string_view>

namespace nerve::cli {
namespace {

using host::ProcessReport;

std::uint64_t payload_sent(const ProcessReport& report) {
  return report["shm_bytes_sent"] + report["udp_bytes_sent"] + report["direct_bytes"];
}

std::uint64_t all_naks(const ProcessReport& report) {
  std::uint64_t sum = 0;
  for (const char* kind : {"sequence", "selective", "rnr", "error"}) {
    sum += report[std::string{kind} + "_naks_sent"] + report[std::string{kind} + "_naks_received"];
  }
  return sum;
}

std::string paths_of(const ProcessReport& report) {
  std::string paths;
  const auto add = [&](const char* counter, const char* name) {
    if (report[counter] > 0) paths += (paths.empty() ? "" : "+") + std::string{name};
  };
  add("shm_packets_sent", "shm");
  add("udp_packets_sent", "udp");
  add("direct_times", "direct");
  return paths.empty() ? "-" : paths;
}

// Per second. Zero for one that was not there before, or whose pid is another process's now.
double per_second(std::uint64_t now, std::uint64_t before, double seconds) {
  return now < before || seconds <= 0 ? 0 : static_cast<double>(now - before) / seconds;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TopProcess row_of(const ProcessReport& report, const ProcessReport* before, double seconds) {
  TopProcess row{.pid = report.pid,
                 .program = report.program,
                 .answered = report.answered,
                 .qps = report["qps"],
                 .peers = report["peers"],
                 .retransmits = report["retransmitted"],
                 .naks = all_naks(report),
                 .timeouts = report["timeouts"],
                 .lowest_rate = report["lowest_rate"],
                 .paths = paths_of(report)};
  if (before != nullptr) {
    row.sent = per_second(payload_sent(report), payload_sent(*before), seconds);
    row.received = per_second(report["bytes_received"], (*before)["bytes_received"], seconds);
    row.packets = per_second(report["packets_sent"], (*before)["packets_sent"], seconds);
  }
  return row;
}

// Largest first, names and pids smallest first; pids decide among equals.
bool comes_before(const TopProcess& a, const TopProcess& b, TopSort sort) {
  const auto by = [&](auto x, auto y) { return x != y ? x > y : a.pid < b.pid; };
  switch (sort) {
    case TopSort::kSent:
      return by(a.sent, b.sent);
    case TopSort::kReceived:
      return by(a.received, b.received);
    case TopSort::kRetransmits:
      return by(a.retransmits, b.retransmits);
    case TopSort::kNaks:
      return by(a.naks, b.naks);
    case TopSort::kQps:
      return by(a.qps, b.qps);
    case TopSort::kProgram:
      return a.program != b.program ? a.program < b.program : a.pid < b.pid;
    case TopSort::kPid:
      break;
  }
  return a.pid < b.pid;
}

bool matches(const ProcessReport& report, const std::string& filter) {
  return filter.empty() || contains(report.program, filter) ||
         contains(std::to_string(report.pid), filter) || contains(paths_of(report), filter);
}

bool matches(const host::QpReport& qp, const std::string& filter) {
  return contains(qp.device, filter) || contains(qp.address, filter) || contains(qp.path, filter) ||
         contains(qp.type, filter) || contains(qp.state, filter);
}

}  // namespace

std::vector<TopProcess> top_processes(const Sample& now, const Sample* before,
                                      const TopState& state) {
  std::vector<TopProcess> rows;
  for (const ProcessReport& report : now.processes) {
    if (!matches(report, state.filter)) continue;
    const ProcessReport* then = nullptr;
    if (before != nullptr) {
      const auto same = std::ranges::find(before->processes, report.pid, &ProcessReport::pid);
      if (same != before->processes.end() && same->program == report.program) then = &*same;
    }
    const double seconds = before != nullptr ? (now.at - before->at).count() : 0;
    rows.push_back(row_of(report, then, seconds));
  }
  std::ranges::sort(rows, [&](const TopProcess& a, const TopProcess& b) {
    return state.reversed ? comes_before(b, a, state.sort) : comes_before(a, b, state.sort);
  });
  return rows;
}

std::vector<TopQp> top_qps(const Sample& now, const TopState& state) {
  std::vector<TopQp> rows;
  for (const ProcessReport& report : now.processes) {
    const bool all = matches(report, state.filter);
    for (const host::QpReport& qp : report.qps) {
      if (all || matches(qp, state.filter)) {
        rows.push_back({.pid = report.pid, .program = report.program, .qp = qp});
      }
    }
  }
  if (state.reversed) std::ranges::reverse(rows);
  return rows;
}

}  // namespace nerve::cli
