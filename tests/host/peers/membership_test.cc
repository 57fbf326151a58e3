// Goal: processes that join a host at the same time each get their own UDP socket, as long as there
// is a free one, whatever the number of their shards; slots cannot be predicted. Method: processes
// that wait for each other, join, and compare.
#include "host/peers/membership.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iostream>
#include <new>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace nerve::host {
namespace {

constexpr std::size_t kProcesses = 8;

// In memory shared by all of them.
struct Meeting {
  std::atomic<std::size_t> ready;
  std::atomic<std::size_t> joined;
  std::array<std::uint32_t, kProcesses> slots;

  static void wait_for_all(std::atomic<std::size_t>& count) {
    ++count;
    while (count < kProcesses) ::sched_yield();
  }
};

void join(Meeting& meeting, std::size_t number) {
  Meeting::wait_for_all(meeting.ready);
  const auto membership = join_host();
  meeting.slots[number] = membership ? membership->slot : 0;
  Meeting::wait_for_all(meeting.joined);
}

bool all_have_their_own(const Meeting& meeting) {
  std::array<bool, kSocketGroup> used{};
  return std::ranges::all_of(meeting.slots, [&](std::uint32_t slot) {
    return slot != 0 && !std::exchange(used[slot % kSocketGroup], true);
  });
}

// Exit statuses of processes that run a test.
constexpr int kAllDiffered = 0;
constexpr int kSomeShared = 1;
constexpr int kNoNamespace = 2;

int run_rounds() {
  constexpr int kRounds = 200;
  void* const shared =
      ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return kSomeShared;
  for (int round = 0; round < kRounds; ++round) {
    Meeting& meeting = *new (shared) Meeting{};
    for (std::size_t number = 0; number < kProcesses; ++number) {
      if (::fork() != 0) continue;
      join(meeting, number);
      ::_exit(0);
    }
    while (::wait(nullptr) > 0) {
    }
    if (all_have_their_own(meeting)) continue;
    std::cerr << "round " << round << ": slots " << testing::PrintToString(meeting.slots) << "\n";
    return kSomeShared;
  }
  return kAllDiffered;
}

// A process with many shards, then as many processes as there are sockets left.
int join_with_shards() {
  std::vector<Membership> joined;
  const auto socket_after = [&](std::optional<Membership> one) {
    joined.push_back(std::move(one.value()));
    return joined.back().slot % kSocketGroup;
  };
  const std::uint32_t own = socket_after(join_host());
  std::array<std::uint32_t, kSocketGroup> sharers{};
  sharers[own] = 1;
  for (std::uint32_t i = 0; i < kSocketGroup; ++i)
    ++sharers[socket_after(join_host(joined[0].slot))];
  for (std::uint32_t i = 0; i < kSocketsForProcesses; ++i) {
    if (++sharers[socket_after(join_host())] > 1) return kSomeShared;
  }
  sharers[own] = 1;  // used by the process itself
  return std::ranges::all_of(sharers, [](std::uint32_t n) { return n == 1; }) ? kAllDiffered
                                                                              : kSomeShared;
}

// Runs in a network namespace of its own, because slots are names there: processes of other tests
// would take sockets meanwhile.
void run_apart(int (*test)()) {
  const pid_t process = ::fork();
  if (process == 0) {
    const bool apart = ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    ::_exit(apart ? test() : kNoNamespace);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(process, &status, 0), process);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespace) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), kAllDiffered);
}

TEST(TwoProcessesThatJoin, UseDifferentSockets) { run_apart(run_rounds); }

// A remote sender that knows when a process started must not know its QPNs.
TEST(SlotsOfAProcess, CannotBePredicted) {
  std::set<std::uint32_t> slots;
  constexpr int kJoins = 32;
  for (int i = 0; i < kJoins; ++i) {
    const auto joined = join_host();
    ASSERT_TRUE(joined);
    slots.insert(joined->slot);
  }
  EXPECT_GT(slots.size(), 24U) << testing::PrintToString(slots);
}

TEST(ShardsThatJoin, LeaveSocketsToOtherProcesses) { run_apart(join_with_shards); }

}  // namespace
}  // namespace nerve::host
