// /dev/infiniband/rdma_cm: a descriptor whose writes are commands for libibverbs.so.1 instead of a
// kernel (rdmacm/device.h).
#pragma once

namespace nerve::preload {

inline constexpr char kRdmaCm[] = "/dev/infiniband/rdma_cm";

[[nodiscard]] bool is_rdma_cm(const char* path);
// True if the descriptor is one of these.
[[nodiscard]] bool is_rdma_cm(int fd);

// Like open().
[[nodiscard]] int open_rdma_cm(int flags);

}  // namespace nerve::preload
