// A progress line on stderr: rewritten in place on a terminal; otherwise a new line every few
// seconds, for logs.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace nerve::cli {

class StatusLine {
 public:
  using Clock = std::chrono::steady_clock;

  explicit StatusLine(bool quiet);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Calls `text` only if it is time to show it.
  void show(const std::function<std::string()>& text);
  void clear();
  [[nodiscard]] std::chrono::duration<double> elapsed() const { return Clock::now() - started_; }

 private:
  bool quiet_;
  bool terminal_;
  bool shown_{};
  Clock::time_point started_;
  Clock::time_point next_;
};

// [###.........]
[[nodiscard]] std::string bar_text(double share);

// 12 s, 3 min 20 s
[[nodiscard]] std::string wait_text(std::chrono::duration<double> time);

}  // namespace nerve::cli
