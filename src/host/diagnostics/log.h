// Lines on stderr for the person who runs a program, as many as NERVE_LOG asks for.
//
//   nerve: nerve0: qp 0x12: modify to rtr: missing rq_psn
//
// Warnings and errors unless told otherwise: a library has little business on a program's terminal.
#pragma once

#include "host/config/config.h"

namespace nerve::host {

void set_log_level(LogLevel level);
[[nodiscard]] bool logs(LogLevel level);

// One line; a newline is added.
[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...);
// The same for what the person asked for, whatever the level.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace nerve::host
