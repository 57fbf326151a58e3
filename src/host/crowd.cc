#include "host/crowd.h"

#include <pthread.h>
#include <sched.h>

#include <bit>
#include <utility>

namespace nerve::host {
namespace {

// In this time threads that never give way each get a processor once, unless the machine is very
// busy.
constexpr Duration kPeriod = std::chrono::milliseconds{50};

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // More processors than the set has bits for: then there is no crowd to speak of.
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : CPU_SETSIZE;
}

std::uint64_t bit_of_this_thread() {
  // A thread's descriptor lies at the same place of its stack, and stacks at multiples of a page:
  // multiplying brings what differs into the upper bits.
  constexpr std::uint64_t kGolden = 0x9e37'79b9'7f4a'7c15U;
  const auto self = static_cast<std::uint64_t>(::pthread_self());
  return std::uint64_t{1} << (self * kGolden >> 58U);
}

}  // namespace

void Crowd::saw_poller(Time now) {
  if (now - period_began_ >= kPeriod || now < period_began_) {
    crowded_ = std::exchange(crowded_in_period_, false);
    seen_ = 0;
    period_began_ = now;
  }
  const std::uint64_t bit = bit_of_this_thread();
  if ((seen_ & bit) != 0) return;
  seen_ |= bit;
  const int pollers = std::popcount(seen_);
  if (pollers > 1) crowded_in_period_ = pollers > processors();
}

}  // namespace nerve::host
