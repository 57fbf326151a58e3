// How a process that waits for its rings is woken.
//
// The consumer, with all its rings empty: stores 1 into `asleep`, looks at its rings once more
// (RingReader::pending()), and blocks on the event fd only if they are still empty. The producer
// commits its frames, then looks at `asleep`. All four accesses are seq_cst, so that in their one
// order either the consumer sees the frames or the producer sees it asleep. A fence would do
// too, but it waits for every store before it, while here only the commit word is waited for.
#pragma once

#include <atomic>
#include <cstdint>

namespace nerve::link::shm {

struct Doorbell {
  std::atomic<std::uint32_t>* asleep{};  // in memory of the consumer's; null: nobody ever sleeps
  int event_fd{-1};

  // After a seq_cst commit. True when somebody was woken.
  bool ring() const {
    if (asleep == nullptr || asleep->load(std::memory_order_seq_cst) == 0) return false;
    return wake();
  }

 private:
  [[nodiscard]] bool wake() const;
};

}  // namespace nerve::link::shm
