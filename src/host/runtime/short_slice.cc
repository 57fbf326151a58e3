#include "host/runtime/short_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace nerve::host {
namespace {

// As the kernel defines it; not every libc does.
struct Attributes {
  std::uint32_t size{sizeof(Attributes)};
  std::uint32_t policy{};
  std::uint64_t flags{};
  std::int32_t nice{};
  std::uint32_t priority{};
  std::uint64_t runtime{};  // the slice of an ordinary thread
  std::uint64_t deadline{};
  std::uint64_t period{};
};

// In nanoseconds. Long enough for the thread to send many packets before another one takes its
// turn; the default is 1.4 ms or more.
constexpr std::uint64_t kSlice = 500'000;

}  // namespace

void ask_for_short_slice() {
  Attributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;  // the user has chosen another one
  attributes.runtime = kSlice;
  (void)::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace nerve::host
