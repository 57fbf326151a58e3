#include "cli/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace nerve::cli {

struct Signals::Mask {
  sigset_t set;
};

Signals::Signals(std::initializer_list<int> wanted) : before_{new Mask} {
  sigset_t set;
  (void)::sigemptyset(&set);
  for (const int signal : wanted) (void)::sigaddset(&set, signal);
  (void)::sigprocmask(SIG_BLOCK, &set, &before_->set);
  descriptor_ = host::Descriptor{::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
}

Signals::~Signals() { delete before_; }

void Signals::restore() const { (void)::sigprocmask(SIG_SETMASK, &before_->set, nullptr); }

std::optional<Signals::Arrived> Signals::take() const {
  signalfd_siginfo arrived{};
  if (::read(descriptor_.get(), &arrived, sizeof arrived) != sizeof arrived) return std::nullopt;
  return Arrived{.number = static_cast<int>(arrived.ssi_signo),
                 .by_process = arrived.ssi_code != SI_KERNEL};
}

}  // namespace nerve::cli
