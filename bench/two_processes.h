// A pair of processes on two cores with shared memory, and figures from many short windows: the
// best shows what the machine can do, the median what it did.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"

namespace nerve::bench {

inline void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core % static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)), &set);
  (void)::sched_setaffinity(0, sizeof set, &set);
}

// A memfd, created as in the host.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t size) {
    const int fd = ::memfd_create("nerve-bench", MFD_CLOEXEC);
    CHECK(fd >= 0 && ::ftruncate(fd, static_cast<off_t>(size)) == 0);
    void* const at =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    CHECK(at != MAP_FAILED);
    ::close(fd);
    bytes = {static_cast<std::byte*>(at), size};
  }
  ~SharedMemory() { ::munmap(bytes.data(), bytes.size()); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  template <class T>
  T& as(std::size_t at = 0) {
    return *reinterpret_cast<T*>(bytes.data() + at);
  }
  MutableBytes bytes;
};

// Runs `body` in a child process on the second core, and ends it with this object.
class Peer {
 public:
  template <class Body>
  explicit Peer(Body body) : pid_{::fork()} {
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it spins: it must not outlive its parent
      pin(1);
      body();
      ::_exit(0);
    }
    pin(0);
  }
  ~Peer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Runs `window` often. It performs `count` operations; the figure is the time of one.
template <class Window>
std::vector<double> seconds_each(int windows, std::uint64_t count, Window window) {
  std::vector<double> each;
  window();
  for (int i = 0; i < windows; ++i) {
    const double begin = seconds();
    window();
    each.push_back((seconds() - begin) / static_cast<double>(count));
  }
  std::sort(each.begin(), each.end());
  return each;
}

inline void line(const std::string& what, double best, double median, const char* unit) {
  std::printf("%-58s %9.3f %9.3f  %s\n", what.c_str(), best, median, unit);
  std::fflush(stdout);
}
inline void latency_line(const std::string& what, const std::vector<double>& round_trips) {
  line(what, round_trips.front() / 2 * 1e6, round_trips[round_trips.size() / 2] / 2 * 1e6,
       "us, half round trip");
}
inline void rate_line(const std::string& what, const std::vector<double>& each, double scale,
                      const char* unit) {
  line(what, scale / each.front(), scale / each[each.size() / 2], unit);
}

}  // namespace nerve::bench
