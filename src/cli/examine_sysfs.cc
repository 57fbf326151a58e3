// `nerve doctor`: checks how programs can be shown /dev/infiniband and /sys/class/infiniband.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/finding.h"
#include "cli/kernel_numbers.h"
#include "cli/run_plan.h"
#include "cli/this_program.h"
#include "sysfs/namespace.h"

namespace nerve::cli {
namespace {

Finding preload(const std::string& folder) {
  const std::string name = "offered paths";
  const std::string file = folder + "/libnerve-preload.so";
  if (::access(file.c_str(), R_OK) == 0) {
    return {
        Verdict::kOk, name,
        "rdma_cm, /dev/infiniband and /sys/class/infiniband, by LD_PRELOAD (`nerve run` sets it)",
        ""};
  }
  return {Verdict::kMissing, name,
          fmt::format("no {}; rdma_cm does not work and UCX finds no devices", file),
          how_to_restore()};
}

std::string advice_for(const std::string& why) {
  if (kernel_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").value_or(0) != 0) {
    return "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run as root";
  }
  if (kernel_number("/proc/sys/kernel/unprivileged_userns_clone").value_or(1) == 0) {
    return "sudo sysctl kernel.unprivileged_userns_clone=1, or run as root";
  }
  if (kernel_number("/proc/sys/user/max_user_namespaces").value_or(1) == 0) {
    return "sudo sysctl user.max_user_namespaces=10000, or run as root";
  }
  if (why.find("namespace") != std::string::npos) {
    return "in docker: --cap-add SYS_ADMIN, or --security-opt seccomp=unconfined; or run as root";
  }
  return "only statically linked programs need it";
}

Finding by_namespace() {
  const std::string name = "mount namespace";
  const std::string why = sysfs::try_namespace(sysfs::current_tree());
  if (why.empty()) {
    return {Verdict::kOk, name,
            "the same paths for static programs (`nerve run --offer namespace`)", ""};
  }
  return {
      Verdict::kNote, name,
      fmt::format("{}; static programs do not find those paths, dynamically linked ones do", why),
      advice_for(why)};
}

}  // namespace

void examine_sysfs(Findings& findings) {
  const std::string program = this_program().string();
  if (const auto folder = find_library_folder(program)) findings.push_back(preload(*folder));
  findings.push_back(by_namespace());
}

}  // namespace nerve::cli
