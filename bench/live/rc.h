// RC queue pairs of two processes, for benchmarks that are verbs programs. Nothing is destroyed:
// the process exits as a whole. Any failure ends it with a message.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace nerve::bench {

[[noreturn]] void fail(const char* what);  // with the text of errno

// The socket between the two processes.
void send_all(int fd, const void* from, std::size_t size);
void receive_all(int fd, void* to, std::size_t size);
void meet(int fd);  // waits for the other process

[[nodiscard]] ibv_context* open_first_device();
[[nodiscard]] ibv_gid gid_of(ibv_context* context);
[[nodiscard]] ibv_cq* make_cq(ibv_context* context, std::size_t depth);

struct RcQueues {
  ibv_cq* send_cq{};
  ibv_cq* recv_cq{};
  ibv_srq* srq{};
  std::uint32_t depth{16};  // per queue
};
// In INIT, with remote write access.
[[nodiscard]] ibv_qp* make_rc(ibv_pd* pd, const RcQueues& queues);
void connect_rc(ibv_qp* qp, const ibv_gid& to, std::uint32_t number);

struct RemoteMemory {
  std::uint64_t address{};
  std::uint32_t rkey{};
};
void post_write(ibv_qp* qp, ibv_sge from, const RemoteMemory& to, std::uint64_t wr_id);
void post_send(ibv_qp* qp, ibv_sge from, std::uint64_t wr_id);

// Returns the number of completions; each must be a success.
std::size_t poll(ibv_cq* cq, ibv_wc* found, std::size_t most);

}  // namespace nerve::bench
