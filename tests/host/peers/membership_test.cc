// Goal: processes that join a host at the same moment each get a UDP socket of their own, as long
// as there is a free one. Method: processes that wait for each other, join, and compare.
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
#include <utility>

namespace nerve::host {
namespace {

constexpr std::size_t kProcesses = 8;

// In memory that all of them see.
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

// Exit statuses of the process that runs the rounds.
constexpr int kAllDiffered = 0;
constexpr int kSomeShared = 1;
constexpr int kNoNamespace = 2;

// In a network namespace of its own, for slots are names there: processes of other tests would take
// sockets meanwhile.
int run_rounds() {
  constexpr int kRounds = 200;
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    return kNoNamespace;
  }
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

TEST(TwoProcessesThatJoin, UseDifferentSockets) {
  const pid_t rounds = ::fork();
  if (rounds == 0) ::_exit(run_rounds());
  int status = 0;
  ASSERT_EQ(::waitpid(rounds, &status, 0), rounds);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespace) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), kAllDiffered);
}

}  // namespace
}  // namespace nerve::host
