// Goal: in a user namespace that does not map this process's user, no other process is taken for
// one of the same user. Method: a connection that was made outside, looked at from inside.
#include "host/peers/own_user.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "host/peers/unix_socket.h"

namespace nerve::host {
namespace {

TEST(UidMap, OnlyTheIdentityOfAllUsersMapsEveryUser) {
  EXPECT_TRUE(maps_every_user("         0          0 4294967295\n"));
  EXPECT_FALSE(maps_every_user(""));
  EXPECT_FALSE(maps_every_user("         0       1000          1\n"));
  EXPECT_FALSE(maps_every_user("         0     100000      65536\n"));
  EXPECT_FALSE(maps_every_user("         0          0      65536\n"));
  EXPECT_FALSE(maps_every_user("         1          0 4294967295\n"));
  EXPECT_FALSE(maps_every_user("no map"));
}

TEST(OwnUser, IsTheEffectiveUser) {
  EXPECT_TRUE(is_own_user(::geteuid()));
  EXPECT_FALSE(is_own_user(::geteuid() + 1));
}

// Exit statuses of the process in the namespace.
constexpr int kPeerRefused = 0;
constexpr int kPeerTaken = 1;
constexpr int kNoUserNamespace = 2;

int look_from_inside(int connection) {
  const auto before = own_peer(connection);
  if (!before || ::unshare(CLONE_NEWUSER) != 0) return kNoUserNamespace;
  return own_peer(connection) ? kPeerTaken : kPeerRefused;
}

TEST(OwnPeer, IsNobodyWhereOurUserIsNotMapped) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(look_from_inside(ends[0]));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  for (const int end : ends) ::close(end);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoUserNamespace) GTEST_SKIP() << "no user namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), kPeerRefused);
}

}  // namespace
}  // namespace nerve::host
