#include "host/runtime/thread_state.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "link/system_calls.h"

namespace nerve::host {

pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

Switches switches_of_this_thread() {
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) return {};
  return {.asleep = usage.ru_nvcsw, .runnable = usage.ru_nivcsw};
}

Duration cpu_time_of(pid_t thread) {
  // As pthread_getcpuclockid() makes it: the clock of what a thread was scheduled for.
  constexpr unsigned kScheduledTimeOfThread = 6;
  const auto clock =
      static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3U | kScheduledTimeOfThread);
  timespec used{};
  if (::clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

bool is_runnable(pid_t thread) {
  std::array<char, 64> path{};
  (void)std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat",
                      static_cast<int>(thread));
  const int file = link::system::open_to_read(path.data());
  if (file < 0) return false;
  std::array<char, 128> text{};
  const ssize_t size = link::system::read(file, text.data(), text.size());
  link::system::close(file);
  if (size <= 0) return false;
  // "123 (name) R ...": the name may contain parentheses, what follows it does not.
  const std::string_view line{text.data(), static_cast<std::size_t>(size)};
  const std::size_t end = line.rfind(") ");
  return end != line.npos && end + 2 < line.size() && line[end + 2] == 'R';
}

}  // namespace nerve::host
