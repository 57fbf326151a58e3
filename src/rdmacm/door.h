// The interface between libnerve-preload.so, which intercepts the program's system calls, and
// libibverbs.so.1, which executes them (rdmacm/device.h).
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace nerve::rdmacm {

// Like the system calls: a result, or -1 and errno.
struct Door {
  int (*open)();
  ssize_t (*write)(int fd, const void* bytes, std::size_t size);
  // Called before close(), while calls of other threads still arrive (rdmacm/device.h).
  void (*prepare_close)(int fd);
  void (*close)(int fd);  // closes the descriptor too
};

using DoorCall = const Door*();
inline constexpr const char* kDoorCall = "nerve_rdmacm_door";

}  // namespace nerve::rdmacm
