#include "cli/sweep_pool.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include "cli/interrupt.h"

namespace nerve::cli {
namespace {

std::string why_of(int status, const RunStatus& run) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("ended by signal {}{}", signal,
                       signal == SIGKILL ? "; it may have run out of memory, try --jobs 1" : "");
  }
  return run.error[0] != 0 ? std::string{run.error} : std::string{"failed"};
}

}  // namespace

void RunStatus::fail(const std::string& why) {
  const std::size_t length = std::min(why.size(), sizeof error - 1);
  std::memcpy(error, why.data(), length);
  error[length] = 0;
}

SweepPool::SweepPool(std::size_t count, std::size_t at_once)
    : count_{count}, at_once_{std::max<std::size_t>(at_once, 1)} {
  void* memory = ::mmap(nullptr, count * sizeof(RunStatus), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) statuses_ = new (memory) RunStatus[count];
}

SweepPool::~SweepPool() {
  end_all();
  if (statuses_ != nullptr) ::munmap(statuses_, count_ * sizeof(RunStatus));
}

void SweepPool::start(std::size_t number, const Work& work) {
  (void)std::fflush(nullptr);  // or the child would print our buffered output again
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // the parent died before prctl()
    (void)::signal(SIGINT, SIG_DFL);
    const bool well = work(number, statuses_[number]);
    (void)std::fflush(nullptr);
    ::_exit(well ? 0 : 1);
  }
  running_.push_back({pid, number});
}

bool SweepPool::reap(const OnDone& on_done) {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const Child child = running_[i];
    int status = 1 << 8;  // if fork failed
    if (child.pid < 0) statuses_[child.number].fail("the process could not be created");
    if (child.pid > 0 && ::waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    // Ctrl-C reaches the children too.
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT && interrupted()) return true;
    ++done_;
    const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    on_done(child.number, {well, well ? "" : why_of(status, statuses_[child.number])});
    return true;
  }
  return false;
}

void SweepPool::end_all() {
  for (const Child& child : running_) {
    if (child.pid <= 0) continue;
    ::kill(child.pid, SIGKILL);
    while (::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  running_.clear();
}

std::uint64_t SweepPool::events() const {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    all += __atomic_load_n(&statuses_[i].events, __ATOMIC_RELAXED);
  }
  return all;
}

bool SweepPool::run(const Work& work, const OnDone& on_done, const OnTick& on_tick) {
  if (statuses_ == nullptr) {
    for (std::size_t i = 0; i < count_; ++i) on_done(i, {false, "no shared memory"});
    return true;
  }
  constexpr std::chrono::milliseconds kTick{20};
  std::size_t next = 0;
  while (next < count_ || !running_.empty()) {
    if (interrupted()) {
      end_all();
      return false;
    }
    while (next < count_ && running_.size() < at_once_) start(next++, work);
    if (!reap(on_done)) std::this_thread::sleep_for(kTick);
    on_tick(done_, running_.size(), events());
  }
  return true;
}

}  // namespace nerve::cli
