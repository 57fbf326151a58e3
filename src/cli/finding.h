// One result of `nerve doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/diagnostics/checkup.h"

namespace nerve::cli {

enum class Verdict : std::uint8_t {
  kOk,
  kNote,     // optional: slower or fewer features without it
  kMissing,  // must be fixed before programs work properly
};

struct Finding {
  Verdict verdict{};
  std::string name;
  // What was found.
  std::string detail;
  std::string fix;  // how to fix it; empty if there is nothing to fix
};

using Findings = std::vector<Finding>;

// Each appends its findings.
void examine_machine(const host::Checkup& checkup,
                     Findings& findings);  // kernel, limits, memory between processes
void examine_network(const host::Checkup& checkup,
                     Findings& findings);   // interfaces, devices, the UDP port, offloads
void examine_library(Findings& findings);   // our libibverbs, and which one programs load
void examine_sysfs(Findings& findings);     // paths that programs look for
void examine_seal(Findings& findings);      // encryption: library, keys
void examine_programs(Findings& findings);  // clients, and RDMA devices of the kernel

[[nodiscard]] std::string finding_text(const Finding& finding);
[[nodiscard]] std::string finding_json(const Finding& finding);

}  // namespace nerve::cli
