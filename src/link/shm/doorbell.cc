#include "link/shm/doorbell.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link/system_calls.h"

namespace nerve::link::shm {
namespace {

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

bool Doorbell::wake() const {
  // If several producers see the consumer asleep, only one makes the system call.
  if (asleep->exchange(0, std::memory_order_seq_cst) == 0) return false;
  const std::uint64_t one = 1;
  // The write fails only if the counter is full, which wakes the consumer too, or if the consumer
  // is gone.
  [[maybe_unused]] const ssize_t written = system::write(event_fd, &one, sizeof one);
  return true;
}

bool join_fences() { return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED); }
bool fence_all() { return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

}  // namespace nerve::link::shm
