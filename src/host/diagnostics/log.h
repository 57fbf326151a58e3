// Log lines on stderr, filtered by NERVE_LOG.
//
//   nerve: nerve0: qp 0x12: modify to rtr: missing rq_psn
//
// Warnings and errors only, by default: a library should not clutter a program's terminal.
#pragma once

#include "host/config/config.h"

namespace nerve::host {

void set_log_level(LogLevel level);
[[nodiscard]] bool logs(LogLevel level);

// Logs one line; a newline is added.
[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...);
// Prints one line whatever the level, for output that the user asked for.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace nerve::host
