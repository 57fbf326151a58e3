// How a process that waits for its rings is woken.
//
// The consumer, with all its rings empty: stores 1 into `asleep` (seq_cst), looks at its rings once
// more (RingReader::pending(), seq_cst), and blocks on the event fd only if they are still empty.
// The producer commits its frames, then looks at `asleep`. Either the consumer must see the frames
// or the producer must see it asleep; that takes a full barrier on both sides.
//
// Plain: the producer's commit and look are seq_cst too. The look then waits until the commit has
// reached the other core, on every send (50 ns where a send otherwise takes as long).
//
// Light: the producer only keeps the order of the two in its program, and the consumer pays for
// both: between the store and the second look it calls fence_all(), by which the kernel puts a
// barrier into every running thread of every process that has called join_fences(). It is about
// to sleep, and has the time.
#pragma once

#include <atomic>
#include <cstdint>

namespace nerve::link::shm {

struct Doorbell {
  std::atomic<std::uint32_t>* asleep{};  // in memory of the consumer's; null: nobody ever sleeps
  int event_fd{-1};
  bool light{};  // this process has joined, and the consumer has said that it fences

  // Whether the last commit before ring() must be seq_cst; else release is enough.
  [[nodiscard]] bool wants_seq_cst() const { return !light && asleep != nullptr; }

  // After that commit. True when somebody was woken. The orders are spelled out: one that is not
  // known when compiling becomes seq_cst.
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

// For producers: lets others' fences reach the threads of this process (again in a fork's child).
// False where the kernel cannot; its doorbells must be plain then.
[[nodiscard]] bool join_fences();

// For consumers: a barrier in all running threads of all processes that have joined. False where
// the kernel cannot; then this process must not say that it fences.
[[nodiscard]] bool fence_all();

}  // namespace nerve::link::shm
