// Collects the reports of this user's processes on this host.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nerve::host {

// A QP of a process, as it told (host/diagnostics/connections.h). All printable.
struct QpReport {
  std::string device;
  std::uint64_t number{};
  std::string type;
  std::string state;
  std::uint64_t peer{};  // zero: none
  std::string address;   // of the peer; "-" for none
  std::string path;      // shm, udp, or "-"
  std::uint64_t rate{};  // bits per second that congestion control allows; zero: any
};

struct ProcessReport {
  pid_t pid{};
  std::uint32_t slot{};
  bool answered{};      // false if it is stopped, or has another version
  std::string program;  // non-printable characters replaced
  std::map<std::string, std::uint64_t> counters;
  std::vector<QpReport> qps;  // the first ones

  // Zero if the report has no such counter.
  [[nodiscard]] std::uint64_t operator[](const std::string& name) const;
};

// All live processes, by pid. Those that have not answered within `patience` are listed as such.
[[nodiscard]] std::vector<ProcessReport> ask_processes(std::chrono::milliseconds patience);

// Parses a report: lines of "name value" (host/diagnostics/report.h). Other lines are ignored.
void read_report(std::string_view text, ProcessReport& into);

}  // namespace nerve::host
