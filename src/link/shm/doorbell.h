// How a process that sleeps on its rings is woken.
//
// The consumer, with all its rings empty, stores 1 into `asleep` (seq_cst), checks its rings once
// more (RingReader::pending(), seq_cst), and blocks on the event fd only if they are still empty.
// The producer commits its frames, then reads `asleep`. Either the consumer must see the frames or
// the producer must see it asleep, or a wake-up would be lost; that takes a full barrier on both
// sides.
//
// Plain: the producer's commit and read are seq_cst too. The read then waits until the commit has
// reached the other core, on every send (50 ns where a send otherwise takes as long).
//
// Light: the producer only keeps the two in program order, and the consumer pays for both barriers:
// between its store and its second check it calls fence_all(), by which the kernel executes a
// barrier in every running thread of every process that has called join_fences(). It is about to
// sleep, so the cost does not matter.
#pragma once

#include <atomic>
#include <cstdint>

namespace nerve::link::shm {

struct Doorbell {
  // In the consumer's memory; null: the consumer never sleeps.
  std::atomic<std::uint32_t>* asleep{};
  int event_fd{-1};
  bool light{};  // this process has joined, and the consumer fences before it sleeps

  // True if the last commit before ring() must be seq_cst; otherwise release is enough.
  [[nodiscard]] bool wants_seq_cst() const { return !light && asleep != nullptr; }

  // Called after that commit. Returns true if the consumer was woken. The memory orders are
  // constants: the compiler turns an order that it does not know into seq_cst.
  [[nodiscard]] bool ring() const {
    if (asleep == nullptr) return false;
    if (light) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      return asleep->load(std::memory_order_relaxed) != 0 && wake();
    }
    return asleep->load(std::memory_order_seq_cst) != 0 && wake();
  }

 private:
  [[nodiscard]] bool wake() const;
};

// For producers: lets the fences of other processes reach the threads of this one. Must be called
// again in the child of a fork. False if the kernel does not support it; doorbells must be plain
// then.
[[nodiscard]] bool join_fences();

// For consumers: executes a barrier in all running threads of all processes that have joined. False
// if the kernel does not support it; this process must not claim to fence then.
[[nodiscard]] bool fence_all();

}  // namespace nerve::link::shm
