// Goal: processes that join a host at the same moment each get a UDP socket of their own, as long
// as there is a free one. Method: processes that wait for each other, join, and compare.
#include "host/membership.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace nerve::host {
namespace {

constexpr std::size_t kProcesses = 8;

// In memory that all of them see.
struct Meeting {
  std::atomic<std::size_t> ready;
  std::atomic<std::size_t> joined;
  std::atomic<std::size_t> left;
  std::array<std::uint32_t, kProcesses> slots;
  bool crowded;

  static void wait_for_all(std::atomic<std::size_t>& count) {
    ++count;
    while (count < kProcesses) ::sched_yield();
  }
};

bool every_socket_is_used() {
  std::array<bool, kSocketGroup> used{};
  for (const std::uint32_t slot : live_slots()) used[slot % kSocketGroup] = true;
  return std::ranges::all_of(used, [](bool one) { return one; });
}

void join(Meeting& meeting, std::size_t number) {
  Meeting::wait_for_all(meeting.ready);
  const auto membership = join_host();
  meeting.slots[number] = membership ? membership->slot : 0;
  Meeting::wait_for_all(meeting.joined);
  // Processes of other tests may have the rest.
  if (number == 0) meeting.crowded = every_socket_is_used();
  Meeting::wait_for_all(meeting.left);
}

TEST(TwoProcessesThatJoin, UseDifferentSockets) {
  constexpr int kRounds = 200;
  void* const shared =
      ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  for (int round = 0; round < kRounds; ++round) {
    Meeting& meeting = *new (shared) Meeting{};
    for (std::size_t number = 1; number < kProcesses; ++number) {
      if (::fork() != 0) continue;
      join(meeting, number);
      ::_exit(0);
    }
    join(meeting, 0);
    for (std::size_t number = 1; number < kProcesses; ++number) ::wait(nullptr);
    ASSERT_EQ(std::ranges::count(meeting.slots, 0U), 0);
    std::array<std::uint32_t, kProcesses> sockets = meeting.slots;
    for (std::uint32_t& slot : sockets) slot %= kSocketGroup;
    std::ranges::sort(sockets);
    const bool shares = std::ranges::adjacent_find(sockets) != sockets.end();
    EXPECT_TRUE(!shares || meeting.crowded)
        << "round " << round << ": slots " << testing::PrintToString(meeting.slots);
  }
  ::munmap(shared, sizeof(Meeting));
}

}  // namespace
}  // namespace nerve::host
