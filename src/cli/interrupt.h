// Ctrl-C as a flag to check; a second Ctrl-C ends the program at once.
#pragma once

namespace nerve::cli {

inline constexpr int kExitInterrupted = 130;  // as shells report it

void watch_for_interrupt();
[[nodiscard]] bool interrupted();

}  // namespace nerve::cli
