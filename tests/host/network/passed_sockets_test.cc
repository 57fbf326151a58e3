// Goal: a process uses the sockets that its service manager bound at the port. Method: sockets at
// the descriptors where a manager puts them, in a process of its own.
#include "host/network/passed_sockets.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "host/network/udp_port.h"
#include "host/peers/membership.h"
#include "tests/host/process.h"
#include "tests/link/tap/frames.h"

namespace nerve::host {
namespace {

constexpr wire::Gid kLoopback = wire::Gid::ipv4(127, 0, 0, 1);
constexpr std::uint32_t kPassedSlot = 7;
constexpr int kFirstPassed = 3;

// Binds them as a manager does, from descriptor 3 on, whatever was there. Returns the port.
std::uint16_t pass_sockets(int count) {
  std::uint16_t port = 0;
  for (int i = 0; i < count; ++i) {
    auto socket = link::UdpSocket::make(link::machine_family());
    EXPECT_TRUE(socket);
    EXPECT_EQ(socket->set(SOL_SOCKET, SO_REUSEPORT, 1), 0);
    EXPECT_EQ(socket->bind(link::machine_family(), port), 0);
    port = socket->bound_port();
    EXPECT_EQ(::dup2(socket->fd(), 200 + i), 200 + i);  // out of the way of those to come
  }
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(::dup2(200 + i, kFirstPassed + i), kFirstPassed + i);
    ::close(200 + i);
  }
  ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
  ::setenv("LISTEN_FDS", std::to_string(count).c_str(), 1);
  return port;
}

TEST(PassedSockets, BecomeTheGroupOfThePort) {
  const test::Process process{[](test::Line /*line*/) {
    Config config;
    config.port = pass_sockets(kSocketGroup + 1);
    auto port = UdpPort::open(config, kPassedSlot);
    ASSERT_TRUE(port) << port.error();
    link::TestFrame made{"RC_SEND_ONLY", kPassedSlot << kSlotShift | 2, 5};
    wire::Frame frame = made.frame();
    frame.flow = {.source = kLoopback, .destination = kLoopback};
    (*port)->sender().send({&frame, 1}, Time{});
    pollfd ready{.fd = (*port)->receiver().fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&ready, 1, 5000), 1) << "the packet went to another socket";
    link::Recorder recorder;
    EXPECT_EQ((*port)->receiver().receive(recorder, 16, Time{}), 1U);
  }};
}

TEST(PassedSockets, AreRefusedIfTheirNumberIsWrong) {
  const test::Process process{[](test::Line /*line*/) {
    Config config;
    config.port = pass_sockets(1);
    const auto port = UdpPort::open(config, kPassedSlot);
    ASSERT_FALSE(port);
    EXPECT_EQ(port.error(), "udp port " + std::to_string(config.port) +
                                ": 1 sockets were passed to this process; 33 are needed "
                                "(docs/install.md)");
  }};
}

TEST(PassedSockets, AreForTheProcessThatIsNamed) {
  const test::Process process{[](test::Line /*line*/) {
    const std::uint16_t port = pass_sockets(2);
    EXPECT_EQ(passed_sockets(port).size(), 2U);
    EXPECT_TRUE(passed_sockets(static_cast<std::uint16_t>(port + 1)).empty());
    ::setenv("LISTEN_PID", std::to_string(::getpid() + 1).c_str(), 1);
    EXPECT_TRUE(passed_sockets(port).empty());
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", "2147483647", 1);
    EXPECT_TRUE(passed_sockets(port).empty());
  }};
}

}  // namespace
}  // namespace nerve::host
