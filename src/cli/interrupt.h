// Ctrl-C, seen when it is asked for; a second one ends the program at once.
#pragma once

namespace nerve::cli {

inline constexpr int kExitInterrupted = 130;  // as shells have it

void watch_for_interrupt();
[[nodiscard]] bool interrupted();

}  // namespace nerve::cli
