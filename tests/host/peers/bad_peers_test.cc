// Goal: other processes are not affected when a process of the host stops, forks or misbehaves.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/network/exchange.h"
#include "host/peers/membership.h"
#include "host/peers/rings.h"
#include "link/shm/placement.h"
#include "tests/host/endpoint.h"

namespace nerve {
namespace {

using test::Card;
using test::Endpoint;

constexpr std::uint32_t kBytes = 1U << 20;

// A process with an endpoint connected to ours, controlled by the test.
class Peer {
 public:
  explicit Peer(const std::function<void(Endpoint&)>& does) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    pid = ::fork();
    if (pid == 0) {
      Endpoint endpoint{kBytes};
      meet(endpoint, ends[1]);
      does(endpoint);
      ::_exit(0);
    }
    ::close(ends[1]);
    channel_ = ends[0];
  }
  ~Peer() {
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

// Its ring fills up and stays full; no answer comes.
TEST(BadPeers, SendingToAStoppedTargetExceedsTheRetries) {
  const Peer target{wait_for_ever};
  Endpoint endpoint{kBytes};
  target.connect(endpoint);
  ASSERT_EQ(::kill(target.pid, SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(target.pid, &status, WUNTRACED), target.pid);  // it takes a moment
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(endpoint.post_send(nic::SendOp::kSend, i, 0, kBytes));
  }
  const auto failed = endpoint.next();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, nic::WcStatus::kRetryExceeded);
}

// As with hardware: a WRITE or READ needs no CPU of the target. Each is longer than one call
// copies.
TEST(BadPeers, AStoppedTargetCanBeWrittenAndRead) {
  const Peer target{wait_for_ever};
  if (!link::shm::can_place(target.pid)) GTEST_SKIP() << "the kernel does not permit it here";
  Endpoint endpoint{kBytes};
  target.connect(endpoint);
  ASSERT_EQ(::kill(target.pid, SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(target.pid, &status, WUNTRACED), target.pid);
  for (std::size_t i = 0; i < endpoint.memory.size(); ++i) {
    endpoint.memory[i] = static_cast<std::byte>(i * 7 + (i >> 9U));
  }
  const std::vector<std::byte> sent = endpoint.memory;
  ASSERT_TRUE(endpoint.post_send(nic::SendOp::kWrite, 8, 0, kBytes));
  ASSERT_EQ(endpoint.next().value_or(nic::Completion{}).status, nic::WcStatus::kSuccess);
  std::ranges::fill(endpoint.memory, std::byte{});
  ASSERT_TRUE(endpoint.post_send(nic::SendOp::kRead, 9, 0, kBytes));
  ASSERT_EQ(endpoint.next().value_or(nic::Completion{}).status, nic::WcStatus::kSuccess);
  EXPECT_EQ(endpoint.memory, sent);
}

// The child has copies of the parent's objects, but the rings behind them belong to the parent.
TEST(BadPeers, AForkedChildMayDestroyInheritedObjects) {
  const Peer target{wait_for_ever};
  auto endpoint = std::make_unique<Endpoint>(kBytes);
  target.connect(*endpoint);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(endpoint->post_send(nic::SendOp::kWrite, i, 0, kBytes));
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

// A process that has no descriptors left, until the test allows it more.
class Poor {
 public:
  explicit Poor(const std::function<void()>& become_poor) : process_{life_of(become_poor)} {
    endpoint_.emplace(kBytes);  // after the fork, so that the child inherits nothing of it
    process_.connect(*endpoint_);
    char word{};
    EXPECT_EQ(::read(channel_[0], &word, 1), 1);
  }
  ~Poor() {
    for (const int end : channel_) ::close(end);
  }
  [[nodiscard]] std::uint32_t slot() const { return host::slot_of(Qpn{endpoint_->peer.qpn}); }
  [[nodiscard]] std::optional<host::RingOffer> offer_ring() {
    const std::uint32_t own_slot = host::slot_of(Qpn{endpoint_->card().qpn});
    return host::RingOffer::make(slot(), own_slot, {});
  }
  void relieve() const { EXPECT_EQ(::write(channel_[0], "r", 1), 1); }
  [[nodiscard]] double processor_seconds() const {
    std::ifstream stat{"/proc/" + std::to_string(process_.pid) + "/stat"};
    const std::vector<std::string> words{std::istream_iterator<std::string>{stat}, {}};
    const double ticks = std::stod(words.at(13)) + std::stod(words.at(14));
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

 private:
  std::function<void(Endpoint&)> life_of(const std::function<void()>& become_poor) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, channel_.data()), 0);
    return [this, become_poor](Endpoint& endpoint) {
      rlimit rich{};
      ::getrlimit(RLIMIT_NOFILE, &rich);
      become_poor();
      char word = 'p';
      EXPECT_EQ(::write(channel_[1], &word, 1), 1);
      EXPECT_EQ(::read(channel_[1], &word, 1), 1);
      ::setrlimit(RLIMIT_NOFILE, &rich);
      wait_for_ever(endpoint);
    };
  }

  std::array<int, 2> channel_{};
  Peer process_;
  std::optional<Endpoint> endpoint_;
};

bool answered(const host::RingOffer& offer, int milliseconds) {
  pollfd answer{.fd = offer.connection(), .events = POLLIN, .revents = 0};
  return ::poll(&answer, 1, milliseconds) == 1;
}

void limit_descriptors(rlim_t soft) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = soft;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// A caller of a process that has no descriptor left is refused at once.
TEST(BadPeers, AProcessWithoutDescriptorsRefusesConnections) {
  Poor poor{[] {
    limit_descriptors(100);
    while (::open("/dev/null", O_RDONLY) >= 0) {
    }
  }};
  auto offer = poor.offer_ring();
  if (!offer) return;  // refused before it had sent its request
  ASSERT_TRUE(answered(*offer, 10'000));
  EXPECT_EQ(std::move(*offer).conclude(std::chrono::milliseconds{0}), nullptr);
}

// The limit is below what is already open, so the connection cannot even be refused. The caller
// waits, the process does not spin on it, and accepts it when it can.
TEST(BadPeers, APendingConnectionDoesNotSpinTheThread) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer makes a pipe to look at an object's type, and here it cannot";
#endif
  Poor poor{[] { limit_descriptors(3); }};
  auto offer = poor.offer_ring();
  ASSERT_TRUE(offer);
  const double before = poor.processor_seconds();
  EXPECT_FALSE(answered(*offer, 500));
  EXPECT_LT(poor.processor_seconds() - before, 0.1);
  poor.relieve();
  ASSERT_TRUE(answered(*offer, 10'000));
  EXPECT_NE(std::move(*offer).conclude(std::chrono::milliseconds{0}), nullptr);
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, {});
}

// Threads that connect to one process at the same time all need the same ring.
TEST(Peers, ManyThreadsShareOneRing) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Endpoint endpoint{64};
    const Card card = endpoint.card();
    (void)!::write(ends[1], &card, sizeof card);
    wait_for_ever(endpoint);
  }
  Card card;
  ASSERT_EQ(::read(ends[0], &card, sizeof card), static_cast<ssize_t>(sizeof card));
  const Endpoint endpoint{64};
  const auto before = open_descriptors();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(
        [&] { endpoint.adapter->reach(host::kPrimaryShard, card.gid, Qpn{card.qpn}); });
  }
  for (std::thread& thread : threads) thread.join();
  // A process of another test may be sending us a request at any time.
  std::ptrdiff_t more = open_descriptors() - before;
  for (int i = 0; i < 500 && more > 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    more = open_descriptors() - before;
  }
  EXPECT_LE(more, 2) << "a ring has a connection and a bell";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int end : ends) ::close(end);
}

// A ring whose reader is dead must not be mistaken for one to the new owner of its slot.
TEST(Peers, ARingIsValidOnlyWhileItsReaderLives) {
  host::Exchange exchange{host::Transport::kShm, 1};
  std::uint32_t slot = 0;
  std::uint32_t own_slot = 0;
  const auto offered = [&] {
    return host::RingOffer::make(slot, own_slot, {}).value().conclude(std::chrono::seconds{10});
  };
  {
    const Peer peer{wait_for_ever};
    Endpoint endpoint{64};
    peer.connect(endpoint);
    slot = host::slot_of(Qpn{endpoint.peer.qpn});
    own_slot = host::slot_of(Qpn{endpoint.card().qpn});
    EXPECT_FALSE(exchange.has_ring_to(slot));
    EXPECT_TRUE(exchange.add(offered(), Time{}));
    EXPECT_TRUE(exchange.has_ring_to(slot));
    EXPECT_FALSE(exchange.add(offered(), Time{})) << "there is one";
  }
  EXPECT_FALSE(exchange.has_ring_to(slot));
}

}  // namespace
}  // namespace nerve
