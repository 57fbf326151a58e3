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

  // In a cache line of its own: a thread waits for it to change while others write to theirs.
  struct alignas(128) Round {
    std::atomic<std::uint32_t> number{};
  };

  std::function<void(std::uint32_t)> work_;
  bool spins_;
  std::atomic<bool> over_{};
  Round begun_;              // incremented to begin a round
  std::vector<Round> done_;  // of each thread
  std::vector<std::thread> threads_;
};

}  // namespace nerve::sim
