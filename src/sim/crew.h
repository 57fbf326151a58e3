// Threads that run the same work for different parts, window after window.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace nerve::sim {

class Crew {
 public:
  // `work` is called with numbers from zero to `count` - 1, each by a thread of its own; zero by
  // the thread that calls run().
  Crew(std::uint32_t count, std::function<void(std::uint32_t)> work);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Runs all of them, and waits until all are done.
  void run();

 private:
  void serve(std::uint32_t number);

  std::function<void(std::uint32_t)> work_;
  bool spins_;
  std::atomic<bool> over_{};
  // In cache lines of their own: one thread waits for a change while others change the other.
  alignas(128) std::atomic<std::uint32_t> round_{};  // incremented to begin one
  alignas(128) std::atomic<std::uint32_t> at_work_{};
  alignas(128) std::vector<std::thread> threads_;
};

}  // namespace nerve::sim
