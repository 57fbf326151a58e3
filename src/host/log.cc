#include "host/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nerve::host {

bool logs_debug() {
  static const bool wanted = [] {
    const char* level = std::getenv("NERVE_LOG");
    return level != nullptr && std::strcmp(level, "debug") == 0;
  }();
  return wanted;
}

void log_debug(const char* format, ...) {
  if (!logs_debug()) return;
  constexpr std::size_t kLongest = 400;
  std::array<char, kLongest + 1> line{};
  std::size_t length = static_cast<std::size_t>(std::snprintf(line.data(), kLongest, "nerve: "));
  std::va_list arguments;
  va_start(arguments, format);
  const int added = std::vsnprintf(line.data() + length, kLongest - length, format, arguments);
  va_end(arguments);
  if (added > 0) length = std::min(length + static_cast<std::size_t>(added), kLongest - 1);
  line[length++] = '\n';
  // One write, so that lines of several threads and processes do not mix.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), length);
}

}  // namespace nerve::host
