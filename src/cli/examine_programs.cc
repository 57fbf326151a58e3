// `nerve doctor`: checks client programs, and RDMA devices of the kernel.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "cli/finding.h"
#include "cli/packages.h"
#include "cli/run_plan.h"

namespace nerve::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShown = 3;  // the others are optional clients

Finding client(const Package& package, const std::string& path) {
  const std::string name{package.name};
  const std::string file = find_command(std::string{package.program}, path);
  if (file.empty()) {
    return {Verdict::kNote, name, fmt::format("not installed; contains {}", package.what),
            fmt::format("sudo apt-get install -y {}", package.name)};
  }
  if (const auto why = ignores_library_path(file)) {
    return {Verdict::kNote, name,
            fmt::format("{}: {}, so the loader ignores LD_LIBRARY_PATH", file, *why),
            "run a copy without that privilege"};
  }
  return {Verdict::kOk, name, std::string{package.what}, ""};
}

Finding kernel_devices() {
  std::string names;
  std::error_code error;
  for (fs::directory_iterator entry{"/sys/class/infiniband", error}, end; !error && entry != end;
       entry.increment(error)) {
    names += (names.empty() ? "" : ", ") + entry->path().filename().string();
  }
  std::error_code ignored;
  const bool soft_roce = fs::exists("/sys/module/rdma_rxe", ignored);
  if (names.empty() && !soft_roce) {
    return {Verdict::kOk, "kernel's RDMA", "none, and none is required", ""};
  }
  return {Verdict::kNote, "kernel's RDMA",
          fmt::format("{}{}; programs under `nerve run` see only Nerve's devices",
                      names.empty() ? "no device" : names, soft_roce ? " (rdma_rxe loaded)" : ""),
          soft_roce ? "a Soft-RoCE device holds UDP port 4791: sudo rmmod rdma_rxe, or use another "
                      "network namespace"
                    : ""};
}

}  // namespace

void examine_programs(Findings& findings) {
  const char* path = std::getenv("PATH");
  for (const Package& package : packages().first(kShown)) {
    findings.push_back(client(package, path != nullptr ? path : "/usr/bin"));
  }
  findings.push_back(
      {Verdict::kOk, "setuid programs",
       "run without Nerve: the loader ignores LD_LIBRARY_PATH for them, and for those "
       "with file capabilities",
       ""});
  findings.push_back(kernel_devices());
}

}  // namespace nerve::cli
