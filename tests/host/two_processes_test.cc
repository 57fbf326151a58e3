// Goal: two forked processes of one host access each other's memory, also if the target never calls
// into the library, and get the right error when one is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "tests/host/endpoint.h"
#include "tests/host/setting.h"

namespace nerve {
namespace {

using test::Card;
using test::Endpoint;
using test::Setting;

constexpr std::uint32_t kBytes = 1U << 20;
constexpr std::uint64_t kMessages = 5000;
constexpr std::uint32_t kSize = 5000;

// Runs `child` in its own process; both sides have an end of a pipe to exchange cards.
class Fork {
 public:
  explicit Fork(const std::function<void(int)>& child) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      child(ends[1]);
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    ::close(ends[1]);
    pipe = ends[0];
  }
  ~Fork() {
    ::close(pipe);
    if (stopped_) kill();
    if (pid_ > 0) {
      EXPECT_EQ(wait(), 0);
    }
  }
  int wait() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }
  // Stops it permanently: it can only be killed.
  void stop() {
    ::kill(pid_, SIGSTOP);
    stopped_ = true;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  int pipe{-1};

 private:
  pid_t pid_{};
  bool stopped_{};
};

void meet(Endpoint& endpoint, int pipe) {
  const Card own = endpoint.card();
  Card other;
  ASSERT_EQ(::write(pipe, &own, sizeof own), static_cast<ssize_t>(sizeof own));
  ASSERT_EQ(::read(pipe, &other, sizeof other), static_cast<ssize_t>(sizeof other));
  endpoint.connect(other);
  // Waits until both sides are ready.
  char word = 'r';
  ASSERT_EQ(::write(pipe, &word, 1), 1);
  ASSERT_EQ(::read(pipe, &word, 1), 1);
}

void fill(Endpoint& endpoint, unsigned seed) {
  for (std::size_t i = 0; i < endpoint.memory.size(); ++i) {
    endpoint.memory[i] = static_cast<std::byte>(i * 7 + seed + (i >> 9U));
  }
}

TEST(TwoProcesses, WriteAndReadWhileTheTargetSleeps) {
  Fork target{[](int pipe) {
    Endpoint endpoint{kBytes};
    fill(endpoint, 1);
    meet(endpoint, pipe);
    char word{};
    ASSERT_EQ(::read(pipe, &word, 1), 1);  // blocked until the other side is done
  }};
  Endpoint endpoint{kBytes};
  meet(endpoint, target.pipe);
  ASSERT_TRUE(endpoint.post_send(nic::SendOp::kRead, 1, 0, kBytes));
  const auto read = endpoint.next();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, nic::WcStatus::kSuccess);
  Endpoint expected{kBytes};
  fill(expected, 1);
  EXPECT_EQ(endpoint.memory, expected.memory);

  fill(endpoint, 2);
  const auto sent = endpoint.memory;
  ASSERT_TRUE(endpoint.post_send(nic::SendOp::kWrite, 2, 0, kBytes));
  ASSERT_EQ(endpoint.next().value_or(nic::Completion{}).wr_id, 2U);
  fill(endpoint, 3);
  ASSERT_TRUE(endpoint.post_send(nic::SendOp::kRead, 3, 0, kBytes));
  ASSERT_EQ(endpoint.next().value_or(nic::Completion{}).wr_id, 3U);
  EXPECT_EQ(endpoint.memory, sent);
  ASSERT_EQ(::write(target.pipe, "x", 1), 1);
}

TEST(TwoProcesses, SendsArriveInOrder) {
  Fork receiver{[](int pipe) {
    Endpoint endpoint{kBytes};
    for (std::uint64_t i = 0; i < 64; ++i) {
      ASSERT_TRUE(endpoint.post_receive(i, i * kSize, kSize));
    }
    meet(endpoint, pipe);
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      const auto got = endpoint.next();
      ASSERT_TRUE(got);
      ASSERT_EQ(got->status, nic::WcStatus::kSuccess);
      ASSERT_EQ(got->wr_id, i % 64);
      ASSERT_EQ(got->bytes, kSize);
      ASSERT_EQ(endpoint.memory[got->wr_id * kSize + kSize - 1], static_cast<std::byte>(i));
      ASSERT_TRUE(endpoint.post_receive(got->wr_id, got->wr_id * kSize, kSize));
    }
  }};
  Endpoint endpoint{kBytes};
  meet(endpoint, receiver.pipe);
  std::uint64_t done = 0;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    if (i - done == 64) {
      const auto sent = endpoint.next();
      ASSERT_TRUE(sent);
      ASSERT_EQ(sent->status, nic::WcStatus::kSuccess);
      ++done;
    }
    endpoint.memory[i % 64 * kSize + kSize - 1] = static_cast<std::byte>(i);
    ASSERT_TRUE(endpoint.post_send(nic::SendOp::kSend, i, i % 64 * kSize, kSize));
  }
  while (done < kMessages) {
    ASSERT_TRUE(endpoint.next());
    ++done;
  }
}

TEST(TwoProcesses, SendingToAKilledPeerExceedsTheRetries) {
  Fork target{[](int pipe) {
    Endpoint endpoint{kBytes};
    meet(endpoint, pipe);
    for (;;) ::pause();
  }};
  Endpoint endpoint{kBytes};
  meet(endpoint, target.pipe);
  ASSERT_TRUE(endpoint.post_send(nic::SendOp::kWrite, 1, 0, 64));
  ASSERT_EQ(endpoint.next().value_or(nic::Completion{}).status, nic::WcStatus::kSuccess);
  target.kill();
  ASSERT_TRUE(endpoint.post_send(nic::SendOp::kWrite, 2, 0, 64));
  const auto failed = endpoint.next();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, nic::WcStatus::kRetryExceeded);
}

TEST(TwoProcesses, WarnThatTheirTransportsDiffer) {
  Fork with_shm{[](int /*pipe*/) {
    Fork with_udp{[](int pipe) {
      const Setting transport{"NERVE_TRANSPORT", "udp"};
      Endpoint endpoint{kSize};
      meet(endpoint, pipe);
    }};
    const Setting transport{"NERVE_TRANSPORT", "shm"};
    testing::internal::CaptureStderr();
    {
      Endpoint endpoint{kSize};
      meet(endpoint, with_udp.pipe);
    }
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_NE(printed.find("Use the same --transport at both ends"), std::string::npos) << printed;
  }};
}

TEST(TwoProcesses, ASleepingThreadIsWokenByATimeout) {
  Fork target{[](int pipe) {
    Endpoint endpoint{kBytes};
    meet(endpoint, pipe);
    for (;;) ::pause();
  }};
  Endpoint endpoint{kBytes};
  meet(endpoint, target.pipe);
  target.stop();
  endpoint.arm();
  // The background thread falls asleep too, without a deadline.
  std::this_thread::sleep_for(std::chrono::milliseconds{100});
  ASSERT_TRUE(endpoint.post_send(nic::SendOp::kSend, 1, 0, 64));
  ASSERT_TRUE(endpoint.sleep()) << "it was not retransmitted";
  EXPECT_EQ(endpoint.next().value_or(nic::Completion{}).status, nic::WcStatus::kRetryExceeded);
}

}  // namespace
}  // namespace nerve
