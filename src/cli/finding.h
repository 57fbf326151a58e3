// One thing that `nerve doctor` looked at, and what it found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/diagnostics/checkup.h"

namespace nerve::cli {

enum class Verdict : std::uint8_t {
  kOk,
  kNote,     // works without it, slower or with less
  kMissing,  // must be mended before programs run as they should
};

struct Finding {
  Verdict verdict{};
  std::string name;
  std::string tells;
  std::string mend;  // what to do; empty when there is nothing to do
};

using Findings = std::vector<Finding>;

// Each adds what it found.
void examine_machine(const host::Checkup& checkup,
                     Findings& findings);  // kernel, limits, memory between processes
void examine_network(const host::Checkup& checkup,
                     Findings& findings);   // interfaces, devices, the UDP port, offloads
void examine_library(Findings& findings);   // ours, and who loads which
void examine_offer(Findings& findings);     // paths that programs look for
void examine_programs(Findings& findings);  // clients, and RDMA that the kernel has

[[nodiscard]] std::string finding_text(const Finding& finding);
[[nodiscard]] std::string finding_json(const Finding& finding);

}  // namespace nerve::cli
