// System calls that are not cancellation points.
//
// The libc functions of these names are cancellation points: a thread that was cancelled with
// pthread_cancel() ends in the next one. We call them inside verbs, which are not cancellation
// points, with a lock held and a stack that cannot be unwound (host/runtime/event_queue.h).
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <ctime>

namespace nerve::link::system {

inline ssize_t write(int fd, const void* bytes, std::size_t size) {
  return ::syscall(SYS_write, fd, bytes, size);
}

inline int open_to_read(const char* path) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
}

inline ssize_t read(int fd, void* bytes, std::size_t size) {
  return ::syscall(SYS_read, fd, bytes, size);
}

inline void close(int fd) { ::syscall(SYS_close, fd); }

inline ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return ::syscall(SYS_sendmsg, fd, message, flags);
}

inline int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  return static_cast<int>(::syscall(SYS_sendmmsg, fd, messages, count, flags));
}

inline int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  return static_cast<int>(::syscall(SYS_recvmmsg, fd, messages, count, flags, nullptr));
}

inline int poll(pollfd& one, int milliseconds) {
  const timespec limit{.tv_sec = 0, .tv_nsec = long{milliseconds} * 1'000'000};
  return static_cast<int>(::syscall(SYS_ppoll, &one, 1, &limit, nullptr, 0));
}

}  // namespace nerve::link::system
