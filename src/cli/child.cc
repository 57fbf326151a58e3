#include "cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "host/network/port_users.h"

namespace nerve::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kTick{10};
constexpr int kExitNotStarted = 127;

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// Runs in the child between fork and exec, so it must not allocate.
[[noreturn]] void become(char* const* arguments, char* const* environment, int log, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitNotStarted);  // the parent died before prctl()
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execve(arguments[0], arguments, environment);
  ::_exit(kExitNotStarted);
}

std::string text_of(const std::string& file) {
  std::ifstream in{file};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Child::Child(const std::vector<std::string>& command, const host::Environment& environment,
             std::string log)
    : log_{std::move(log)} {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) {
    variables.push_back(name);
    variables.back().append("=").append(value);
  }
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> settings = pointers(variables);
  const int out = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(arguments.data(), settings.data(), out, parent);
  if (pid_ > 0) ::setpgid(pid_, pid_);
  if (pid_ < 0) status_ = kExitNotStarted << 8U;
  ::close(out);
}

Child::~Child() { end(); }

void Child::reap(int options) {
  if (status_) return;
  int status = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(pid_, &status, options);
  } while (got < 0 && errno == EINTR);
  if (got == pid_) status_ = status;
}

bool Child::running() {
  reap(WNOHANG);
  return !status_;
}

void Child::end() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);  // the whole process group; fails if all have exited
  reap(0);
  pid_ = 0;
}

Child::Ended Child::wait(milliseconds limit) {
  const auto until = Clock::now() + limit;
  while (running() && Clock::now() < until) std::this_thread::sleep_for(kTick);
  const bool late = !status_;
  end();
  Ended ended{.well = false, .text = text_of(log_), .why = {}};
  if (late) {
    ended.why = fmt::format("not done after {} s", limit.count() / 1000);
  } else if (WIFSIGNALED(*status_)) {
    ended.why = fmt::format("killed by signal {}", WTERMSIG(*status_));
  } else if (WEXITSTATUS(*status_) != 0) {
    ended.why = fmt::format("exit code {}", WEXITSTATUS(*status_));
  } else {
    ended.well = true;
  }
  return ended;
}

bool wait_until_listening(Child& child, std::uint16_t port, milliseconds limit) {
  const auto until = Clock::now() + limit;
  while (child.running() && Clock::now() < until) {
    for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
      std::ifstream table{file};
      if (!host::sockets_at(table, port).empty()) {
        std::this_thread::sleep_for(kTick);  // bound, and listening a moment later
        return child.running();
      }
    }
    std::this_thread::sleep_for(kTick);
  }
  return false;
}

std::uint16_t free_tcp_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)::bind(socket, reinterpret_cast<const sockaddr*>(&address), size);
  (void)::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

}  // namespace nerve::cli
