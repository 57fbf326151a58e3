// Goal: what becomes of the others when a process of the host stops, forks or is in the way.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "host/membership.h"
#include "host/rings.h"
#include "tests/host/endpoint.h"

namespace nerve {
namespace {

using test::Card;
using test::Endpoint;

constexpr std::uint32_t kOctets = 1U << 20;

// A process with an endpoint that is connected to ours and then does as it is told.
class Neighbour {
 public:
  explicit Neighbour(const std::function<void(Endpoint&)>& does) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    pid = ::fork();
    if (pid == 0) {
      Endpoint endpoint{kOctets};
      meet(endpoint, ends[1]);
      does(endpoint);
      ::_exit(0);
    }
    ::close(ends[1]);
    channel_ = ends[0];
  }
  ~Neighbour() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::close(channel_);
  }
  void connect(Endpoint& endpoint) const { meet(endpoint, channel_); }
  pid_t pid{};

 private:
  static void meet(Endpoint& endpoint, int channel) {
    const Card own = endpoint.card();
    Card other;
    char word = 'r';
    ASSERT_EQ(::write(channel, &own, sizeof own), static_cast<ssize_t>(sizeof own));
    ASSERT_EQ(::read(channel, &other, sizeof other), static_cast<ssize_t>(sizeof other));
    endpoint.connect(other);
    ASSERT_EQ(::write(channel, &word, 1), 1);
    ASSERT_EQ(::read(channel, &word, 1), 1);
  }
  int channel_{-1};
};

void wait_for_ever(Endpoint& /*endpoint*/) {
  for (;;) ::pause();
}

// Its ring fills up and stays full; no answer ever comes.
TEST(BadNeighbours, AStoppedTargetIsARetryExceeded) {
  const Neighbour target{wait_for_ever};
  Endpoint endpoint{kOctets};
  target.connect(endpoint);
  ASSERT_EQ(::kill(target.pid, SIGSTOP), 0);
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(endpoint.post_send(nic::SendOp::kWrite, i, 0, kOctets));
  }
  const auto failed = endpoint.next();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, nic::WcStatus::kRetryExceeded);
}

// The child has the parent's objects, but the rings behind them are the parent's alone.
TEST(BadNeighbours, AChildThatDestroysWhatItInheritedHarmsNobody) {
  const Neighbour target{wait_for_ever};
  auto endpoint = std::make_unique<Endpoint>(kOctets);
  target.connect(*endpoint);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(endpoint->post_send(nic::SendOp::kWrite, i, 0, kOctets));
    const pid_t child = ::fork();
    if (child == 0) {
      (void)endpoint->post_send(nic::SendOp::kWrite, 99, 0, 64);
      (void)endpoint->next(std::chrono::milliseconds{5});
      endpoint.reset();
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    const auto done = endpoint->next();
    ASSERT_TRUE(done);
    ASSERT_EQ(done->wr_id, i);
    ASSERT_EQ(done->status, nic::WcStatus::kSuccess);
  }
}

// Who calls a process that has no descriptor left is told so at once, and not left waiting.
TEST(BadNeighbours, NoDescriptorLeftIsNoHang) {
  const Neighbour poor{[](Endpoint& /*endpoint*/) {
    const rlimit none{.rlim_cur = 3, .rlim_max = 3};
    ::setrlimit(RLIMIT_NOFILE, &none);
    for (;;) ::pause();
  }};
  Endpoint endpoint{kOctets};
  poor.connect(endpoint);
  ::usleep(10'000);
  const std::uint32_t slot = host::slot_of(Qpn{endpoint.peer.qpn});
  auto offer = host::RingOffer::make(slot, 1, {});
  ASSERT_TRUE(offer);
  pollfd answer{.fd = offer->connection(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&answer, 1, 10'000), 1);
  EXPECT_EQ(std::move(*offer).conclude(std::chrono::milliseconds{0}), nullptr);
}

}  // namespace
}  // namespace nerve
