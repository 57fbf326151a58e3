// The door between libnerve-preload.so, which sees the program's system calls, and libibverbs.so.1,
// which answers them (rdmacm/device.h).
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace nerve::rdmacm {

// As the system calls: a result, or -1 and errno.
struct Door {
  int (*open)();
  ssize_t (*write)(int fd, const void* bytes, std::size_t size);
  // Before close(), while calls of other threads still come here (rdmacm/device.h).
  void (*prepare_close)(int fd);
  void (*close)(int fd);  // closes the descriptor as well
};

using DoorCall = const Door*();
inline constexpr const char* kDoorCall = "nerve_rdmacm_door";

}  // namespace nerve::rdmacm
