// Copies bytes into or out of the memory of another process of the same user, through the kernel
// and without any action of that process. With it a WRITE or READ completes even if the
// target's threads never call into the library.
//
// The kernel checks that we may access the process, not that its program allows it: the caller must
// first ask the RightsTable (rights_table.h) what may be accessed.
//
// A pid identifies a process only while that process lives. The caller watches its peers (a pidfd,
// a connection that closes with them) and stops when one is gone; the kernel reuses a pid only
// after all others.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/bytes.h"

namespace nerve::link::shm {

enum class Placed : std::uint8_t {
  kDone,
  kNotPermitted,  // another user's process, or ptrace is restricted (Yama's ptrace_scope, seccomp)
  kNoProcess,     // it is dead
  kFault,         // some of it is not mapped there, or not writable; a part may have been copied
  kUnsupported,   // this kernel has no such call, or no memory for it now
};

[[nodiscard]] Placed place(pid_t pid, std::uint64_t address, Bytes from);
[[nodiscard]] Placed fetch(pid_t pid, std::uint64_t address, MutableBytes into);

// True if the kernel lets us access the memory of this process. Copies nothing.
[[nodiscard]] bool can_place(pid_t pid);

}  // namespace nerve::link::shm
