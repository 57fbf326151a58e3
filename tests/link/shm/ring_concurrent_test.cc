// Goal: with both ends active, in threads and in processes, contents arrive intact, a sleeper is
// always woken, and frames that a dead writer had committed are read.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "link/shm/ring_reader.h"
#include "link/shm/ring_writer.h"
#include "tests/link/shm/ring_world.h"

namespace nerve::link::shm {
namespace {

constexpr RingSize kSmall{.slots = 64, .data_bytes = 32 * 1024};
constexpr std::uint32_t kFrames = 20'000;

// Frame n carries its number as PSN, and a payload derived from it.
std::uint32_t length_of(std::uint32_t n) { return n * 37 % 1000; }
std::byte byte_of(std::uint32_t n, std::uint32_t at) { return static_cast<std::byte>(n + at * 7); }

void send_numbered(RingWriter& writer, std::uint32_t n, std::vector<std::byte>& buffer) {
  buffer.resize(length_of(n));
  for (std::uint32_t i = 0; i < buffer.size(); ++i) buffer[i] = byte_of(n, i);
  const std::vector<wire::Piece> payload{
      {.address = reinterpret_cast<std::uint64_t>(buffer.data()), .length = length_of(n)}};
  wire::Frame frame = write_only(payload);
  frame.headers.bth.psn = Psn{n};
  writer.send({&frame, 1}, {});
}

void send_all(RingWriter& writer) {
  std::vector<std::byte> buffer;
  for (std::uint32_t n = 0; n < kFrames; ++n) {
    while (writer.grant(1) == 0) std::this_thread::yield();
    send_numbered(writer, n, buffer);
  }
}

struct CheckingSink final : FrameSink {
  void deliver(std::span<const wire::Frame> frames, Time /*now*/) override {
    for (const wire::Frame& frame : frames) {
      wrong += static_cast<unsigned>(frame.headers.bth.psn.value() != count ||
                                     frame.payload_length != length_of(count));
      if (wrong > 0) return;
      std::uint32_t at = 0;
      for (const wire::Piece& piece : frame.payload) {
        const auto* from = reinterpret_cast<const std::byte*>(piece.address);
        for (std::uint32_t i = 0; i < piece.length; ++i, ++at) {
          wrong += static_cast<unsigned>(from[i] != byte_of(count, at));
        }
      }
      ++count;
    }
  }
  std::uint32_t count{};
  unsigned wrong{};
};

unsigned receive_all(RingReader& reader) {
  CheckingSink sink;
  while (sink.count < kFrames && sink.wrong == 0 && reader.state() == RingReader::State::kGood) {
    if (reader.receive(sink, 16, {}) == 0) std::this_thread::yield();
  }
  return sink.wrong + static_cast<unsigned>(reader.state() != RingReader::State::kGood);
}

// Runs `child` in another process; returns its pid.
template <class Child>
pid_t fork_child(Child child) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(child());
  return pid;
}

int exit_status(pid_t pid) {
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ShmRingConcurrent, ThreadToThread) {
  RingMemory ring{kSmall};
  RingWriter writer{ring.memory, ring.size};
  RingReader reader{ring.memory, ring.size};
  std::thread sender{[&] { send_all(writer); }};
  EXPECT_EQ(receive_all(reader), 0U);
  sender.join();
  EXPECT_EQ(writer.counters().dropped, 0U);
}

TEST(ShmRingConcurrent, ProcessToProcess) {
  RingMemory ring{kSmall};
  const pid_t pid = fork_child([&] {
    RingReader reader{ring.memory, ring.size};
    return static_cast<int>(receive_all(reader));
  });
  RingWriter writer{ring.memory, ring.size};
  send_all(writer);
  EXPECT_EQ(exit_status(pid), 0);
}

TEST(ShmRingConcurrent, FramesOfADeadWriterAreRead) {
  RingMemory ring{kSmall};
  const pid_t pid = fork_child([&] {
    RingWriter writer{ring.memory, ring.size};
    std::vector<std::byte> buffer;
    for (std::uint32_t n = 0; n < 10; ++n) send_numbered(writer, n, buffer);
    return 0;
  });
  ASSERT_EQ(exit_status(pid), 0);
  RingReader reader{ring.memory, ring.size};
  CheckingSink sink;
  EXPECT_EQ(reader.receive(sink, 100, {}), 10U);
  EXPECT_EQ(sink.wrong, 0U);
}

// A lost wake-up shows as a hang.
void sleep_and_wake(bool light) {
  RingMemory ring{kSmall};
  std::atomic<std::uint32_t> asleep{};
  const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  RingReader reader{ring.memory, ring.size};
  std::thread sender{[&] {
    RingWriter writer{ring.memory, ring.size, {.asleep = &asleep, .event_fd = fd, .light = light}};
    send_all(writer);
  }};
  CheckingSink sink;
  while (sink.count < kFrames && sink.wrong == 0) {
    if (reader.receive(sink, 16, {}) > 0) continue;
    asleep.store(1, std::memory_order_seq_cst);
    if (light) {
      EXPECT_TRUE(fence_all());
    }
    if (!reader.pending()) {
      pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
      ::poll(&wait, 1, -1);
      std::uint64_t rung = 0;
      EXPECT_EQ(::read(fd, &rung, sizeof rung), static_cast<ssize_t>(sizeof rung));
    }
    asleep.store(0, std::memory_order_seq_cst);
  }
  sender.join();
  EXPECT_EQ(sink.wrong, 0U);
  ::close(fd);
}

TEST(ShmRingConcurrent, ASleeperIsAlwaysWoken) { sleep_and_wake(false); }

TEST(ShmRingConcurrent, ASleeperThatFencesIsAlwaysWoken) {
  if (!join_fences()) GTEST_SKIP() << "this kernel has no membarrier";
  sleep_and_wake(true);
}

}  // namespace
}  // namespace nerve::link::shm
