// /dev/infiniband/rdma_cm inside the process: what librdmacm opens and writes its commands to.
//
// A preloaded library (src/preload) hands over the calls on that path. The descriptor is an
// eventfd: poll, epoll, select and fcntl work on it as on the device.
#pragma once

#include <sys/types.h>

#include "base/bytes.h"

namespace nerve::rdmacm {

// As open(2), write(2) and close(2): a descriptor, the number of bytes, or -1 and errno.
[[nodiscard]] int open_device();
[[nodiscard]] ssize_t write_device(int fd, Bytes bytes);
// Closes the descriptor as well.
void close_device(int fd);

// Programs close a channel while a thread of theirs is on its way back from its last event to wait
// for the next, and take the error that it gets then for a failure (rping). Where every call takes
// a while the thread is there long before; here it is given a moment.
void prepare_close(int fd);

}  // namespace nerve::rdmacm
