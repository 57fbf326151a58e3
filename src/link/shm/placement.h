// Bytes put into, or taken out of, the memory of another process of the same user, by the kernel
// and without that process taking part: how a small WRITE or READ completes while its target's
// threads never call into the library.
//
// The kernel checks that we may touch the process, not that its program wants us to: what may be
// touched is for RightsTable to say (rights_table.h), and the caller asks it first.
//
// A pid names a process only as long as that lives. The caller watches its peers (a pidfd, a lock
// that dies with them) and stops placing when one is gone; the kernel gives the same number out
// again only after all others.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/bytes.h"

namespace nerve::link::shm {

enum class Placed : std::uint8_t {
  kDone,
  kNotPermitted,  // another user's, or ptrace is restricted here (Yama's ptrace_scope, seccomp)
  kNoProcess,     // it is dead
  kFault,         // some of it is not mapped there, or not writable; a part may have been moved
  kUnsupported,   // this kernel has no such call, or no memory for it now
};

[[nodiscard]] Placed place(pid_t pid, std::uint64_t address, Bytes from);
[[nodiscard]] Placed fetch(pid_t pid, std::uint64_t address, MutableBytes into);

// Whether the kernel lets us touch the memory of this process. Moves nothing.
[[nodiscard]] bool can_place(pid_t pid);

}  // namespace nerve::link::shm
