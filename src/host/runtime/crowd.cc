#include "host/runtime/crowd.h"

#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <utility>

namespace nerve::host {
namespace {

// Within this time every polling thread runs on a CPU at least once, unless the machine is very
// busy.
constexpr Duration kPeriod = std::chrono::milliseconds{50};

std::size_t hash_of_this_thread() {
  // A thread's descriptor lies at the same offset of its stack, and stacks at multiples of a page:
  // the multiplication moves the bits that differ to the top.
  constexpr std::uint64_t kGolden = 0x9e37'79b9'7f4a'7c15U;
  return static_cast<std::uint64_t>(::pthread_self()) * kGolden >> 58U;
}

std::size_t this_processor() {
  const int processor = ::sched_getcpu();
  return processor < 0 ? 0 : static_cast<std::size_t>(processor);
}

}  // namespace

void Crowd::saw_poller(Time now) {
  if (now - period_began_ >= kPeriod || now < period_began_) {
    crowded_ = std::exchange(crowded_in_period_, false);
    threads_.reset();
    processors_.reset();
    period_began_ = now;
  }
  const std::size_t thread = hash_of_this_thread();
  const std::size_t processor = this_processor() % processors_.size();
  if (threads_[thread] && processors_[processor]) return;
  threads_.set(thread);
  processors_.set(processor);
  crowded_in_period_ = threads_.count() > processors_.count();
}

}  // namespace nerve::host
