// Progress of a long command on stderr: a line that is rewritten on a terminal, or one line per
// step in a log.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace nerve::cli {

class Progress {
 public:
  explicit Progress(std::size_t steps) : steps_{steps} {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(const std::string& what) {
    clear();
    fmt::print(stderr, "[{}/{}] {}{}", ++done_, steps_, what, terminal_ ? " ..." : "\n");
    (void)std::fflush(stderr);
  }

 private:
  void clear() const {
    if (terminal_) fmt::print(stderr, "\r\033[K");
  }
  std::size_t steps_;
  std::size_t done_{};
  bool terminal_{::isatty(STDERR_FILENO) == 1};
};

}  // namespace nerve::cli
