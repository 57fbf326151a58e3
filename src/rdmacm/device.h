// /dev/infiniband/rdma_cm inside the process: the device that librdmacm opens and writes its
// commands to.
//
// A preloaded library (src/preload) redirects the calls on that path here. The descriptor is an
// eventfd, so poll, epoll, select and fcntl work on it as on the device.
#pragma once

#include <sys/types.h>

#include "base/bytes.h"

namespace nerve::rdmacm {

// Like open(2), write(2) and close(2): a descriptor, the number of bytes, or -1 and errno.
[[nodiscard]] int open_device();
[[nodiscard]] ssize_t write_device(int fd, Bytes bytes);
// Closes the descriptor too.
void close_device(int fd);

// Some programs (rping) close a channel while one of their threads is returning from its last event
// to wait for the next, and treat the error that this thread then gets as a failure. With a kernel
// device every call takes long enough for the thread to arrive first; here close waits a moment for
// it.
void prepare_close(int fd);

}  // namespace nerve::rdmacm
