// The rows of `nerve top`: processes and QPs with the rates between two samples, filtered and
// sorted. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/sample.h"
#include "cli/top_view.h"

namespace nerve::cli {

struct TopProcess {
  pid_t pid{};
  std::string program;
  bool answered{};
  std::uint64_t qps{};
  std::uint64_t peers{};
  double sent{};      // bytes per second
  double received{};  // likewise
  double packets{};   // sent, per second
  std::uint64_t retransmits{};
  std::uint64_t naks{};  // sent and received
  std::uint64_t timeouts{};
  std::uint64_t lowest_rate{};  // bits per second; zero: not slowed down
  std::string paths;            // "shm", "shm+direct", "-"
};

struct TopQp {
  pid_t pid{};
  std::string program;
  host::QpReport qp;
};

[[nodiscard]] std::vector<TopProcess> top_processes(const Sample& now, const Sample* before,
                                                    const TopState& state);
[[nodiscard]] std::vector<TopQp> top_qps(const Sample& now, const TopState& state);

}  // namespace nerve::cli
