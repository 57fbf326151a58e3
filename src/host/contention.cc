#include "host/contention.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace nerve::host {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A thread that never sleeps is preempted after a time slice of a few milliseconds.
constexpr Duration kWindow = milliseconds{25};
constexpr std::uint32_t kEnough = 2;
constexpr Duration kLongestBelief = milliseconds{1600};

constexpr Duration kAskEvery = microseconds{200};

}  // namespace

void Contention::saw_switches(std::uint64_t count, Time now) {
  if (count == 0) return;
  if (now - began_ > kWindow || now < began_) {
    switches_ = 0;
    began_ = now;
  }
  switches_ += static_cast<std::uint32_t>(std::min<std::uint64_t>(count, kEnough));
  const bool again = found_ && now >= ends_ && now - ends_ < believed_for_;
  if (switches_ < (again ? 1 : kEnough)) return;
  if (!present(now)) {
    believed_for_ = again ? std::min(believed_for_ * 2, kLongestBelief) : kShortest;
  }
  found_ = present_ = true;
  ends_ = now + believed_for_;
}

bool Contention::present(Time now) {
  if (present_ && now >= ends_) present_ = false;
  return present_;
}

std::uint64_t new_involuntary_switches(Time now) {
  struct Seen {
    Time asked{};
    long count{-1};
  };
  thread_local Seen seen;
  if (seen.count >= 0 && now - seen.asked < kAskEvery && now >= seen.asked) return 0;
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) return 0;
  seen.asked = now;
  const long before = std::exchange(seen.count, usage.ru_nivcsw);
  return before < 0 ? 0 : static_cast<std::uint64_t>(std::max(0L, usage.ru_nivcsw - before));
}

}  // namespace nerve::host
