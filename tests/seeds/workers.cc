#include "tests/seeds/workers.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <utility>

namespace nerve::test {
namespace {

using Clock = std::chrono::steady_clock;

// A worker whose seed failed exits with this code, because its gtest state cannot pass any more.
constexpr int kSeedFailed = 70;
constexpr auto kPoll = std::chrono::milliseconds{5};

// State shared between the workers and this process.
struct Board {
  std::atomic<std::uint64_t> taken;  // seeds handed out
  std::atomic<std::uint64_t> tried;  // seeds that finished, successfully or not
};
struct Desk {  // state of one worker
  std::atomic<std::uint64_t> seed;
  std::atomic<Clock::rep> since;  // when it took that seed; 0: it has none
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class SharedMemory {
 public:
  explicit SharedMemory(std::size_t size)
      : size_{size},
        start_{mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)} {
    if (start_ == MAP_FAILED) {
      std::perror("shared memory for seeds");
      std::abort();
    }
  }
  ~SharedMemory() { munmap(start_, size_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  void* start() const { return start_; }

 private:
  std::size_t size_;
  void* start_;
};

std::string end_of(int status) {
  if (!WIFSIGNALED(status)) {
    return "ended its process with status " + std::to_string(WEXITSTATUS(status));
  }
  const int signal = WTERMSIG(status);
  return "ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

class Workers {
 public:
  Workers(const SeedPlan& plan, const WorkerHooks& hooks)
      : plan_{plan},
        hooks_{hooks},
        jobs_{plan.workers()},
        memory_{sizeof(Board) + jobs_ * sizeof(Desk)},
        board_{new (memory_.start()) Board{}},
        desks_{reinterpret_cast<Desk*>(board_ + 1), jobs_},
        workers_(jobs_, 0),
        killed_(jobs_, 0) {
    std::uninitialized_value_construct(desks_.begin(), desks_.end());
  }

  SeedRun run() {
    for (std::size_t i = 0; i < jobs_; ++i) start(i);
    while (std::ranges::any_of(workers_, [](pid_t pid) { return pid != 0; })) {
      for (std::size_t i = 0; i < jobs_; ++i) look_at(i);
      if (hooks_.progress) hooks_.progress(board_->tried);
      std::this_thread::sleep_for(kPoll);
    }
    run_.tried = board_->tried;
    std::ranges::sort(run_.failed, {}, &FailedSeed::seed);
    return run_;
  }

 private:
  void start(std::size_t i) {
    std::fflush(nullptr);  // otherwise each worker would print what is buffered here
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
      std::perror("fork");
      std::abort();
    }
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) work(desks_[i]);
      _exit(0);
    }
    workers_[i] = pid;
  }

  void work(Desk& desk) {
    for (;;) {
      const std::uint64_t place = board_->taken.fetch_add(1);
      if (place >= plan_.count()) return;
      desk.seed = plan_.first + place;
      desk.since = Clock::now().time_since_epoch().count();
      const bool good = hooks_.passes(desk.seed);
      std::fflush(nullptr);
      if (!good) _exit(kSeedFailed);
      desk.since = 0;
      ++board_->tried;
    }
  }

  void look_at(std::size_t i) {
    int status = 0;
    if (workers_[i] == 0) return;
    if (waitpid(workers_[i], &status, WNOHANG) != workers_[i]) {
      end_hang(i);
      return;
    }
    workers_[i] = 0;
    const bool killed = std::exchange(killed_[i], 0) != 0;
    if (desks_[i].since.exchange(0) == 0) {
      if (killed) start(i);  // too late: the seed had just finished
      return;                // otherwise no seeds are left
    }
    std::string how = end_of(status);
    if (killed) how = "took longer than " + std::to_string(hooks_.limit.count()) + " ms";
    if (WIFEXITED(status) && WEXITSTATUS(status) == kSeedFailed) how = "failed";
    ++board_->tried;
    run_.failed.push_back({desks_[i].seed, how});
    if (hooks_.failed) hooks_.failed(run_.failed.back());
    if (run_.failed.size() >= plan_.failures) {
      board_->taken = plan_.count();
    } else {
      start(i);
    }
  }

  void end_hang(std::size_t i) {
    const Clock::rep since = desks_[i].since;
    if (since == 0 || killed_[i] != 0) return;
    if (Clock::now() - Clock::time_point{Clock::duration{since}} < hooks_.limit) return;
    killed_[i] = 1;
    kill(workers_[i], SIGKILL);
  }

  const SeedPlan& plan_;
  const WorkerHooks& hooks_;
  std::uint64_t jobs_;
  SharedMemory memory_;
  Board* board_;
  std::span<Desk> desks_;
  std::vector<pid_t> workers_;  // 0: exited
  std::vector<char> killed_;    // because its seed took too long
  SeedRun run_;
};

}  // namespace

SeedRun run_in_workers(const SeedPlan& plan, const WorkerHooks& hooks) {
  return Workers{plan, hooks}.run();
}

}  // namespace nerve::test
