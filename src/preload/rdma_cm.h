// The place of /dev/infiniband/rdma_cm. It is not there yet: opening it answers ENOENT.
#pragma once

namespace nerve::preload {

[[nodiscard]] bool is_rdma_cm(const char* path);

// As open() does.
[[nodiscard]] int open_rdma_cm(int flags);

}  // namespace nerve::preload
