// Goal: `nerve top` leaves a terminal as it found it, however it ends. Method: the built `nerve` on
// a terminal of the test's own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>

namespace nerve::cli {
namespace {

class OnATerminal {
 public:
  OnATerminal() {
    winsize size{};
    size.ws_row = 10;
    size.ws_col = 60;
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      ::execl(NERVE_PROGRAM, "nerve", "top", "--interval", "0.2", nullptr);
      ::_exit(127);
    }
  }
  ~OnATerminal() {
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
    ::close(terminal_);
  }
  OnATerminal(const OnATerminal&) = delete;
  OnATerminal& operator=(const OnATerminal&) = delete;

  // Whether it prints this within some seconds.
  bool shows(const std::string& what) {
    const std::size_t from = seen_;
    for (int tries = 0; tries < 300; ++tries) {
      read_some();
      const std::size_t at = text_.find(what, from);
      if (at != std::string::npos) {
        seen_ = at + what.size();
        return true;
      }
    }
    return false;
  }
  void type(const std::string& keys) const {
    EXPECT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void send(int signal) const { EXPECT_EQ(::kill(pid_, signal), 0); }
  void resize(std::uint16_t rows, std::uint16_t columns) const {
    winsize size{};
    size.ws_row = rows;
    size.ws_col = columns;
    EXPECT_EQ(::ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }
  [[nodiscard]] bool echoes() const {
    termios now{};
    EXPECT_EQ(::tcgetattr(terminal_, &now), 0);
    return (now.c_lflag & ECHO) != 0 && (now.c_lflag & ICANON) != 0;
  }
  std::optional<int> status() {
    for (int tries = 0; tries < 300; ++tries) {
      read_some();
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) return status;
    }
    return std::nullopt;
  }
  const std::string& text() const { return text_; }

 private:
  void read_some() {
    pollfd look{.fd = terminal_, .events = POLLIN, .revents = 0};
    std::array<char, 4096> some{};
    if (::poll(&look, 1, 30) <= 0) return;
    const ssize_t came = ::read(terminal_, some.data(), some.size());
    if (came > 0) {
      text_.append(some.data(), static_cast<std::size_t>(came));
    } else {
      ::usleep(10'000);
    }
  }

  int terminal_{-1};
  pid_t pid_{};
  std::string text_;
  std::size_t seen_{};
};

constexpr const char* kScreenIsBack = "\033[?1049l";

}  // namespace

TEST(TopTerminal, AKeyEndsIt) {
  OnATerminal top;
  ASSERT_TRUE(top.shows("nerve top: ")) << top.text();
  EXPECT_FALSE(top.echoes());
  top.type("?");
  EXPECT_TRUE(top.shows("type a filter")) << top.text();
  top.type("xq");
  EXPECT_EQ(top.status(), 0);
  EXPECT_NE(top.text().find(kScreenIsBack), std::string::npos);
  EXPECT_TRUE(top.echoes());
}

TEST(TopTerminal, SignalsEndItWithTheTerminalRestored) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    OnATerminal top;
    ASSERT_TRUE(top.shows("nerve top: ")) << top.text();
    top.send(signal);
    const std::optional<int> status = top.status();
    ASSERT_TRUE(status) << signal;
    EXPECT_TRUE(WIFEXITED(*status));
    EXPECT_EQ(WEXITSTATUS(*status), signal == SIGINT ? 0 : 128 + signal);
    EXPECT_NE(top.text().find(kScreenIsBack), std::string::npos) << signal;
    EXPECT_TRUE(top.echoes()) << signal;
  }
}

TEST(TopTerminal, FollowsTheSizeOfTheWindow) {
  OnATerminal top;
  ASSERT_TRUE(top.shows("by sent")) << top.text();
  top.resize(10, 15);
  EXPECT_TRUE(top.shows(" pr\r")) << top.text();  // of "nerve top: 0 processes"
}

}  // namespace nerve::cli
