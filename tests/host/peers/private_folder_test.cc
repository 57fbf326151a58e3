// Goal: strangers who hold our abstract names keep no process from joining or being called, and
// processes with and without a private folder meet. Method: a network and a /run of the test's own.
#include "host/peers/private_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <vector>

#include "host/peers/membership.h"
#include "host/peers/turn.h"
#include "host/peers/unix_socket.h"
#include "tests/host/process.h"

namespace nerve::host {
namespace {

using test::Line;
using test::Process;

std::string user_folder() { return "/run/user/" + std::to_string(::geteuid()); }

bool enter_own_machine() {
  return ::unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", "/run", "tmpfs", 0, nullptr) == 0 && ::mkdir("/run/user", 0755) == 0 &&
         ::mkdir(user_folder().c_str(), 0700) == 0;
}

// Runs the body in a process of its own, with its own network and /run.
void run_on_own_machine(const std::function<void()>& body) {
  constexpr int kNoNamespace = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!enter_own_machine()) ::_exit(kNoNamespace);
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespace) GTEST_SKIP() << "needs root";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

std::vector<Descriptor> squat_all_names() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<Descriptor> held;
  for (std::uint32_t slot = 1; slot < kSlots; ++slot) held.push_back(hold_name(name_of_slot(slot)));
  for (const char* what : {"joining", "ports", "statistics"})
    held.push_back(hold_name(name_of(what)));
  EXPECT_TRUE(std::ranges::all_of(held, [](const Descriptor& one) { return bool{one}; }));
  return held;
}

TEST(PrivateFolder, ProcessesJoinAlthoughAllNamesAreTaken) {
  run_on_own_machine([] {
    const auto held = squat_all_names();
    const auto begin = std::chrono::steady_clock::now();
    const auto first = join_host();
    const auto second = join_host();
    ASSERT_TRUE(first && second);
    EXPECT_NE(first->slot, second->slot);
    EXPECT_TRUE(Turn::take(TurnTo::kMakePorts));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{400});
    ASSERT_TRUE(listen_to_calls(first->private_listener.get()));
    EXPECT_TRUE(holds_slot(::getpid(), first->slot));
    EXPECT_FALSE(holds_slot(::getpid(), second->slot)) << "it does not listen";
  });
}

TEST(PrivateFolder, HasTheSocketsOfLiveProcessesOnly) {
  run_on_own_machine([] {
    std::uint32_t killed = 0;
    {
      Process process{[](Line line) {
        const auto joined = join_host();
        line.say(joined->slot);
        (void)line.hear<char>();
      }};
      killed = process.line().hear<std::uint32_t>();
      EXPECT_EQ(live_slots(), std::vector{killed});
      process.kill();
    }
    const std::string left = PrivateFolder::open()->path_of(name_of_slot(killed));
    EXPECT_TRUE(std::filesystem::exists(left));
    EXPECT_TRUE(live_slots().empty());
    const auto joined = join_host();
    ASSERT_TRUE(joined);
    EXPECT_TRUE(joined->slot == killed || !std::filesystem::exists(left));
    EXPECT_EQ(live_slots(), std::vector{joined->slot});
    leave_host(joined->slot);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{PrivateFolder::open()->path()}, {}),
              1)
        << "the locks alone";
  });
}

TEST(PrivateFolder, ProcessesThatDoNotSeeItAreFound) {
  run_on_own_machine([] {
    const auto inside = join_host();
    ASSERT_TRUE(inside && inside->private_listener);
    ASSERT_TRUE(listen_to_calls(inside->listener.get()));
    ASSERT_TRUE(listen_to_calls(inside->private_listener.get()));
    const Process outside{[&](Line line) {
      ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
      ASSERT_EQ(::umount2("/run", MNT_DETACH), 0);
      if (PrivateFolder::open()) return line.say(std::uint32_t{0});  // this machine's own
      const auto joined = join_host();
      ASSERT_TRUE(joined && !joined->private_listener);
      ASSERT_TRUE(listen_to_calls(joined->listener.get()));
      EXPECT_TRUE(call(name_of_slot(inside->slot)));
      line.say(joined->slot);
      (void)line.hear<char>();
    }};
    const auto slot = outside.line().hear<std::uint32_t>();
    if (slot == 0) return;
    EXPECT_NE(slot, inside->slot);
    const Descriptor connection = call(name_of_slot(slot));
    EXPECT_TRUE(connection && own_peer(connection.get()));
    outside.line().say('e');
  });
}

TEST(PrivateFolder, IsOursAlone) {
  run_on_own_machine([] {
    EXPECT_TRUE(PrivateFolder::open());
    ASSERT_EQ(::chmod(user_folder().c_str(), 0755), 0);
    EXPECT_FALSE(PrivateFolder::open());
    ASSERT_EQ(::chmod(user_folder().c_str(), 0700), 0);
    ASSERT_EQ(::chown(user_folder().c_str(), 4321, static_cast<gid_t>(-1)), 0);
    EXPECT_FALSE(PrivateFolder::open());
    EXPECT_TRUE(join_host());
  });
}

}  // namespace
}  // namespace nerve::host
