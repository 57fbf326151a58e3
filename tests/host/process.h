// A forked process that the test controls through a pipe.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <type_traits>

namespace nerve::test {

// One end of the connection between a process and its parent. Neither waits forever.
class Line {
 public:
  explicit Line(int fd) : fd_{fd} {}

  template <class Word>
  void say(const Word& word) const {
    static_assert(std::is_trivially_copyable_v<Word>);
    EXPECT_EQ(::write(fd_, &word, sizeof word), static_cast<ssize_t>(sizeof word));
  }
  template <class Word>
  Word hear() const {
    static_assert(std::is_trivially_copyable_v<Word>);
    Word word{};
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    constexpr int kPatience = 60'000;  // milliseconds; reached only on failure
    EXPECT_EQ(::poll(&ready, 1, kPatience), 1);
    EXPECT_EQ(::read(fd_, &word, sizeof word), static_cast<ssize_t>(sizeof word));
    return word;
  }

 private:
  int fd_;
};

class Process {
 public:
  explicit Process(const std::function<void(Line)>& life) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      life(Line{ends[1]});
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    ::close(ends[1]);
    fd_ = ends[0];
  }
  Process(Process&& other) noexcept
      : pid_{std::exchange(other.pid_, 0)}, fd_{std::exchange(other.fd_, -1)} {}
  Process& operator=(Process&&) = delete;
  // The process ends when its function returns; if it waits for input, it gets end-of-file.
  ~Process() {
    if (fd_ >= 0) ::close(fd_);
    if (pid_ > 0) {
      EXPECT_EQ(wait(), 0);
    }
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);  // it takes a moment
  }
  void resume() const { ::kill(pid_, SIGCONT); }
  [[nodiscard]] Line line() const { return Line{fd_}; }

 private:
  int wait() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }
  pid_t pid_{};
  int fd_{-1};
};

}  // namespace nerve::test
