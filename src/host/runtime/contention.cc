#include "host/runtime/contention.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "link/system_calls.h"

namespace nerve::host {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The kernel preempts a thread that never sleeps after a time slice of a few milliseconds.
constexpr Duration kWindow = milliseconds{25};
constexpr std::uint32_t kEnough = 2;
constexpr Duration kLongestValidity = milliseconds{1600};

constexpr Duration kAskEvery = microseconds{200};

// Kernel threads and our own background thread preempt for less than this, even on an idle machine.
constexpr Duration kLostTime = microseconds{200};

// How long the calling thread has been runnable without a CPU since it started: the second number
// in this file. Nothing if the kernel does not count it.
std::optional<Duration> time_without_cpu() {
  const int file = link::system::open_to_read("/proc/thread-self/schedstat");
  if (file < 0) return std::nullopt;
  std::array<char, 64> text{};
  const ssize_t size = link::system::read(file, text.data(), text.size());
  link::system::close(file);
  if (size <= 0) return std::nullopt;
  const std::string_view numbers{text.data(), static_cast<std::size_t>(size)};
  const std::size_t space = numbers.find(' ');
  if (space == numbers.npos) return std::nullopt;
  std::int64_t ns = 0;
  const char* const end = numbers.data() + numbers.size();
  if (std::from_chars(numbers.data() + space + 1, end, ns).ec != std::errc{}) return std::nullopt;
  return std::chrono::nanoseconds{ns};
}

}  // namespace

void Contention::saw_preemptions(std::uint64_t count, Time now) {
  if (count == 0) return;
  if (now - began_ > kWindow || now < began_) {
    preemptions_ = 0;
    began_ = now;
  }
  preemptions_ += static_cast<std::uint32_t>(std::min<std::uint64_t>(count, kEnough));
  const bool again = found_ && now >= ends_ && now - ends_ < valid_for_;
  if (preemptions_ < (again ? 1 : kEnough)) return;
  if (!present(now)) {
    valid_for_ = again ? std::min(valid_for_ * 2, kLongestValidity) : kShortest;
  }
  found_ = present_ = true;
  ends_ = now + valid_for_;
}

bool Contention::present(Time now) {
  if (present_ && now >= ends_) present_ = false;
  return present_;
}

std::uint64_t new_preemptions(Time now) {
  struct Seen {
    Time asked{};
    long switches{-1};
    std::optional<Duration> without_cpu;
  };
  thread_local Seen seen;
  if (seen.switches >= 0 && now - seen.asked < kAskEvery && now >= seen.asked) return 0;
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) return 0;
  seen.asked = now;
  const long before = std::exchange(seen.switches, usage.ru_nivcsw);
  if (before == usage.ru_nivcsw) return 0;
  const std::optional<Duration> lost_before = std::exchange(seen.without_cpu, time_without_cpu());
  if (before < 0) return 0;
  const bool short_ones =
      lost_before && seen.without_cpu && *seen.without_cpu - *lost_before < kLostTime;
  return short_ones ? 0 : static_cast<std::uint64_t>(std::max(0L, usage.ru_nivcsw - before));
}

}  // namespace nerve::host
