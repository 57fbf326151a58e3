// What the other processes of this user on this host tell of themselves, when asked at their names.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nerve::host {

struct ProcessReport {
  pid_t pid{};
  std::uint32_t slot{};
  bool answered{};      // one that is stopped, or of another version, does not
  std::string program;  // printable, whatever was told
  std::map<std::string, std::uint64_t> counters;

  // Zero for what was not told.
  [[nodiscard]] std::uint64_t operator[](const std::string& name) const;
};

// All that live now, by pid. Those that have not answered when patience ends are listed as such.
[[nodiscard]] std::vector<ProcessReport> ask_processes(std::chrono::milliseconds patience);

// Takes what a process told: lines of "name value" (host/diagnostics/report.h). What is not that is
// left out.
void read_report(std::string_view text, ProcessReport& into);

}  // namespace nerve::host
