#include "host/diagnostics/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "link/system_calls.h"

namespace nerve::host {

namespace {

std::atomic<LogLevel> chosen{LogLevel::kWarn};

[[gnu::format(printf, 1, 0)]] void print(const char* format, std::va_list arguments) {
  constexpr std::size_t kLongest = 400;
  std::array<char, kLongest + 1> line{};
  std::size_t length = static_cast<std::size_t>(std::snprintf(line.data(), kLongest, "nerve: "));
  const int added = std::vsnprintf(line.data() + length, kLongest - length, format, arguments);
  if (added > 0) length = std::min(length + static_cast<std::size_t>(added), kLongest - 1);
  line[length++] = '\n';
  // One write, so that lines of several threads and processes do not mix.
  [[maybe_unused]] const auto written = link::system::write(STDERR_FILENO, line.data(), length);
}

}  // namespace

void set_log_level(LogLevel level) { chosen = level; }

bool logs(LogLevel level) { return level <= chosen; }

void log(LogLevel level, const char* format, ...) {
  if (!logs(level)) return;
  std::va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

void say(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

}  // namespace nerve::host
