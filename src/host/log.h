// Lines for people who ask why: NERVE_LOG=debug prints to stderr what was refused, and why.
//
//   nerve: nerve0: qp 0x12: modify to rtr: missing rq_psn
//
// Silent otherwise: a library has no business on a program's terminal.
#pragma once

namespace nerve::host {

[[nodiscard]] bool logs_debug();

// One line; a newline is added.
[[gnu::format(printf, 1, 2)]] void log_debug(const char* format, ...);

}  // namespace nerve::host
