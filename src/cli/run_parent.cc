#include "cli/run_parent.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/signals.h"
#include "host/diagnostics/log.h"
#include "host/diagnostics/summary.h"
#include "host/peers/statistics_keeper.h"

namespace nerve::cli {
namespace {

std::string ended_text(pid_t pid, pid_t child, int signal) {
  if (pid != child || signal == 0) return "; it ended without a summary of its own";
  const char* const name = ::sigabbrev_np(signal);
  return "; killed by SIG" + std::string{name != nullptr ? name : "?"};
}

// Ends this process as the program ended: its parent sees the same status.
int end_as(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  const rlimit no_core{};  // one of the program is enough
  (void)::setrlimit(RLIMIT_CORE, &no_core);
  (void)::signal(signal, SIG_DFL);
  sigset_t unblocked;
  (void)::sigemptyset(&unblocked);
  (void)::sigaddset(&unblocked, signal);
  (void)::sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
  (void)::raise(signal);
  return 128 + signal;
}

class Run {
 public:
  explicit Run(const ParentDuties& duties)
      : duties_{duties}, keeper_{host::StatisticsKeeper::make()} {
    if (keeper_) records_.add(keeper_->statistics());
    (void)::setenv(host::kRunVariable, std::to_string(::getpid()).c_str(), 1);
  }

  [[nodiscard]] bool start(const std::function<int()>& become) {
    const pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ == 0) {
      signals_.restore();
      // To kill `nerve run` ends the program, as it does where the two are one.
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::_exit(::getppid() == parent ? become() : 1);
    }
    return child_ > 0;
  }

  // Until the child has ended: its status.
  [[nodiscard]] int wait() {
    const host::Descriptor ended{static_cast<int>(::syscall(SYS_pidfd_open, child_, 0))};
    for (int status = 0;;) {
      if (::waitpid(child_, &status, WNOHANG) == child_) return status;
      const int knock = keeper_ ? keeper_->listener() : -1;
      std::array<pollfd, 3> waiting{{{.fd = ended.get(), .events = POLLIN, .revents = 0},
                                     {.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
                                     {.fd = knock, .events = POLLIN, .revents = 0}}};
      if (::poll(waiting.data(), waiting.size(), ended ? 1000 : 20) == 0) every_second();
      while (const auto arrived = signals_.take()) {
        if (arrived->by_process) (void)::kill(child_, arrived->number);
      }
      if (keeper_) keeper_->answer();
    }
  }

  void print_summaries(std::optional<int> signal) {
    if (!duties_.summary) return;
    const host::Records records = records_.read();
    for (const std::string& line :
         missing_summaries(records, ::getpid(), child_, signal, printed_)) {
      host::say("%s", line.c_str());
    }
    const auto ours = [](const host::ProcessRecord& one) { return one.run == ::getpid(); };
    any_ = any_ || std::ranges::any_of(records.processes, ours);
  }
  // No process of this run has opened a device.
  [[nodiscard]] bool nothing_by_rdma() const { return duties_.summary && keeper_ && !any_; }

 private:
  void every_second() {
    if (duties_.every_second) duties_.every_second(records_.read());
    print_summaries(std::nullopt);
  }

  const ParentDuties& duties_;
  // Those that people send to a program. Ctrl-Z and what follows stop and continue both.
  const Signals signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
  std::optional<host::StatisticsKeeper> keeper_;
  host::RecordReader records_;
  std::vector<pid_t> printed_;
  pid_t child_{};
  bool any_{};
};

}  // namespace

std::vector<std::string> missing_summaries(const host::Records& records, pid_t run, pid_t child,
                                           std::optional<int> signal, std::vector<pid_t>& printed) {
  std::vector<std::string> lines;
  for (const host::ProcessRecord& process : records.processes) {
    if (process.run != run || process.alive || process.summarised || process.devices.empty())
      continue;
    if (std::ranges::find(printed, process.pid) != printed.end()) continue;
    if (process.pid == child && !signal) continue;
    printed.push_back(process.pid);
    lines.push_back(summary_line(summary_of(static_cast<std::uint64_t>(process.pid),
                                            process.program, process.total())) +
                    ended_text(process.pid, child, signal.value_or(0)));
  }
  return lines;
}

int run_as_parent(const std::function<int()>& become, const ParentDuties& duties) {
  int status = 0;
  {
    Run run{duties};
    if (!run.start(become)) {
      host::say("run: no process can be started: %s", std::strerror(errno));
      return 126;
    }
    if (duties.at_start) duties.at_start();
    status = run.wait();
    run.print_summaries(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    if (run.nothing_by_rdma()) {
      host::say("no program of this run opened an RDMA device: nothing went by RDMA");
    }
  }
  if (duties.at_end) duties.at_end();
  return end_as(status);
}

}  // namespace nerve::cli
