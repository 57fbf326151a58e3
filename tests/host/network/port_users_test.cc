// Goal: the users of a port are found. Method: the kernel's table as text, also damaged, and a
// socket of our own.
#include "host/network/port_users.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace nerve::host {

TEST(PortUsers, ReadsTheKernelsTable) {
  std::istringstream table{
      "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode ref pointer drops\n"
      "  7: 0100007F:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 "
      "4242 2 0000 0\n"
      "  8: 00000000:12B8 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 "
      "4243 2 0000 0\n"
      "  9: 00000000000000000000000000000000:12B7 0:0 07 0:0 0:0 0 33 0 99 2 0 0\n"
      " 10: nonsense\n"
      " 11: 0100007F:12B7\n"};
  EXPECT_EQ(sockets_at(table, 4791),
            (std::vector<BoundSocket>{{.uid = 1000, .inode = 4242}, {.uid = 33, .inode = 99}}));
}

TEST(PortUsers, FindsTheProcessThatHoldsAPort) {
  const int stranger = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(stranger, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(stranger, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::uint16_t port = ntohs(address.sin_port);

  const PortCheck taken = check_port(port);
  EXPECT_FALSE(taken.free);
  const auto us = std::ranges::find(taken.users, ::getpid(), &PortUser::pid);
  ASSERT_NE(us, taken.users.end());
  EXPECT_EQ(us->program, "nerve_test_host");
  EXPECT_NE(who_has(port).find("(pid "), std::string::npos) << who_has(port);
  EXPECT_EQ(taken.usable(), us->ours) << "other tests may have made this a process of Nerve's";
  ::close(stranger);
  EXPECT_TRUE(check_port(port).free);
  EXPECT_EQ(who_has(port), "");
}

}  // namespace nerve::host
