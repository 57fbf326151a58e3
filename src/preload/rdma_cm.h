// /dev/infiniband/rdma_cm: a descriptor whose writes are commands for libibverbs.so.1, where a
// kernel would be (rdmacm/device.h).
#pragma once

namespace nerve::preload {

inline constexpr char kRdmaCm[] = "/dev/infiniband/rdma_cm";

[[nodiscard]] bool is_rdma_cm(const char* path);
// Whether the descriptor is one of these.
[[nodiscard]] bool is_rdma_cm(int fd);

// As open() does.
[[nodiscard]] int open_rdma_cm(int flags);

}  // namespace nerve::preload
