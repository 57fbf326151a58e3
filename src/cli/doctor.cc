// `nerve doctor`: checks this machine, and says what is missing and how to fix it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/finding.h"

namespace nerve::cli {
namespace {

constexpr const char* kDoctorFooter = R"(
Each line begins with
    ok       it works
    note     optional: programs run without it, but slower or with fewer features
    MISSING  must be fixed before programs work properly
followed by -> and how to fix it. The check changes nothing.

--json prints one object per line: verdict, name, detail, fix.

Exit code: 0  everything that is required works
           1  something is MISSING)";

int examine(bool json) {
  Findings findings;
  const host::Checkup checkup = host::check_machine();
  examine_machine(checkup, findings);
  examine_network(checkup, findings);
  examine_library(findings);
  examine_sysfs(findings);
  examine_seal(findings);
  examine_programs(findings);
  for (const Finding& finding : findings) {
    fmt::print("{}", json ? finding_json(finding) : finding_text(finding));
  }
  const auto missing = std::ranges::count(findings, Verdict::kMissing, &Finding::verdict);
  if (!json && missing == 0) fmt::print("\nEverything that is required works. Try: nerve demo\n");
  if (!json && missing > 0) fmt::print("\n{} missing; see -> above.\n", missing);
  return missing == 0 ? kExitOk : kExitFailed;
}

}  // namespace

void add_doctor(CLI::App& program, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      program.add_subcommand("doctor", "Check this machine and say how to fix problems");
  command->add_flag("--json", *json, "JSON, one object per line");
  command->footer(kDoctorFooter);
  command->callback([json, &exit_code] { exit_code = examine(*json); });
}

}  // namespace nerve::cli
