#include "cli/interrupt.h"

#include <signal.h>

namespace nerve::cli {
namespace {

volatile sig_atomic_t g_interrupted = 0;  // the only type that a signal handler may write

extern "C" void note_interrupt(int) { g_interrupted = 1; }

}  // namespace

void watch_for_interrupt() {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  (void)::sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return g_interrupted != 0; }

}  // namespace nerve::cli
