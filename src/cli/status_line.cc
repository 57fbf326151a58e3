#include "cli/status_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace nerve::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kOnTerminal{100};
constexpr milliseconds kElsewhere{5000};

std::size_t width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col - 1U : 79U;
}

}  // namespace

StatusLine::StatusLine(bool quiet)
    : quiet_{quiet},
      terminal_{::isatty(STDERR_FILENO) == 1},
      started_{Clock::now()},
      next_{started_ + (terminal_ ? kOnTerminal : kElsewhere)} {}

void StatusLine::show(const std::function<std::string()>& text) {
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + (terminal_ ? kOnTerminal : kElsewhere);
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", text().substr(0, width()));
    shown_ = true;
  } else {
    fmt::print(stderr, "{}\n", text());
  }
  (void)std::fflush(stderr);
}

void StatusLine::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
  (void)std::fflush(stderr);
}

std::string bar_text(double share) {
  constexpr std::size_t kWidth = 12;  // so that the line fits in 80 columns
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * kWidth);
  return "[" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "]";
}

std::string wait_text(std::chrono::duration<double> time) {
  const auto seconds = std::lround(time.count());
  if (seconds < 60) return fmt::format("{} s", seconds);
  return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

}  // namespace nerve::cli
