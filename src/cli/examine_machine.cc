// `nerve doctor`: checks the kernel, its limits, and memory shared between processes.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdio>

#include "cli/finding.h"
#include "cli/kernel_numbers.h"

namespace nerve::cli {
namespace {

using host::Ability;

Finding kernel() {
  utsname name{};
  ::uname(&name);
  const std::string detail = fmt::format("{} {} on {}", name.sysname, name.release, name.machine);
  int major = 0;
  int minor = 0;
  // NOLINTNEXTLINE(cert-err34-c): an unparsable release stays zero and counts as too old
  (void)std::sscanf(name.release, "%d.%d", &major, &minor);
  if (major > 5 || (major == 5 && minor >= 11)) return {Verdict::kOk, "kernel", detail, ""};
  return {Verdict::kNote, "kernel", detail + "; kernels before 5.11 are not tested",
          "run a newer kernel: Debian 11 has 5.10, Debian 12 has 6.1"};
}

Finding needed(std::string name, std::string detail, const Ability& ability, std::string fix) {
  if (ability.works) return {Verdict::kOk, std::move(name), std::move(detail), ""};
  return {Verdict::kMissing, std::move(name), ability.reason, std::move(fix)};
}

Finding placement(const Ability& ability) {
  const std::string name = "direct placement";
  if (ability.works) {
    return {Verdict::kOk, name, "small WRITEs and READs go straight to a peer's memory", ""};
  }
  const std::string detail =
      ability.reason + "; small WRITEs and READs wait for the peer's thread to wake (4 us)";
  const auto scope = kernel_number("/proc/sys/kernel/yama/ptrace_scope");
  if (scope.value_or(0) > 0) {
    return {Verdict::kNote, name, detail,
            fmt::format("kernel.yama.ptrace_scope is {}; sudo sysctl kernel.yama.ptrace_scope=0",
                        *scope)};
  }
  return {Verdict::kNote, name, detail,
          "a seccomp filter refuses it; in docker: --cap-add SYS_PTRACE, or --security-opt "
          "seccomp=unconfined"};
}

Finding timed_wait(const Ability& ability) {
  const std::string detail = "idle programs sleep";
  if (ability.works) return {Verdict::kOk, "waiting", detail + " (epoll_pwait2)", ""};
  return {Verdict::kNote, "waiting",
          ability.reason + "; " + detail + ", and wake with two system calls",
          "run a kernel from 5.11, or a newer container runtime"};
}

Finding fences(const Ability& ability) {
  if (ability.works) return {Verdict::kOk, "wake-ups", "cost the sender nothing (membarrier)", ""};
  return {Verdict::kNote, "wake-ups", ability.reason + "; each send costs 50 ns more",
          "allow membarrier in the container's seccomp filter"};
}

Finding open_files() {
  // The sockets of the port, a few of its own, and for each peer a connection and an eventfd.
  constexpr rlim_t kFew = 256;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::string detail = fmt::format("{} in each process (ulimit -n)", limit.rlim_cur);
  if (limit.rlim_cur >= kFew) return {Verdict::kOk, "open files", detail, ""};
  return {Verdict::kNote, "open files", detail + "; a process needs 40, and 3 for each peer",
          "ulimit -n 1024"};
}

Finding locked_memory() {
  return {Verdict::kOk, "locked memory", "not limited: registered memory is not pinned", ""};
}

Finding user_namespaces() {
  const std::string name = "user namespaces";
  const auto most = kernel_number("/proc/sys/user/max_user_namespaces");
  const auto allowed = kernel_number("/proc/sys/kernel/unprivileged_userns_clone");
  const auto refused = kernel_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  if (most.value_or(0) > 0 && allowed.value_or(1) != 0 && refused.value_or(0) == 0) {
    return {Verdict::kOk, name, "available: `unshare -Urn` creates a private network to test in",
            ""};
  }
  return {Verdict::kNote, name, "not available to ordinary users; programs do not need them",
          "to try two hosts on one machine, use two containers, or root and ip netns"};
}

}  // namespace

void examine_machine(const host::Checkup& checkup, Findings& findings) {
  findings.push_back(kernel());
  findings.push_back(
      needed("shared memory",
             "anonymous memory of fixed size (memfd, seals); "
             "/dev/shm is not used",
             checkup.shared_memory,
             "allow memfd_create and fcntl seals in the container's seccomp filter"));
  findings.push_back(needed("meeting", "processes find each other at abstract unix names",
                            checkup.meeting,
                            "allow unix sockets (SOCK_SEQPACKET) in this sandbox"));
  findings.push_back(timed_wait(checkup.timed_wait));
  findings.push_back(placement(checkup.placement));
  findings.push_back(fences(checkup.fences));
  findings.push_back(open_files());
  findings.push_back(locked_memory());
  findings.push_back(user_namespaces());
}

}  // namespace nerve::cli
