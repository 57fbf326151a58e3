// A thread that creates, uses and destroys its own objects while a world runs: two threads on one
// device must not disturb each other.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace worlds {

class Noise {
 public:
  Noise(ibv_context* context, std::uint64_t seed);
  ~Noise();
  Noise(const Noise&) = delete;
  Noise& operator=(const Noise&) = delete;

 private:
  void make(std::uint64_t seed);

  ibv_context* context_;
  std::atomic<bool> over_{};
  std::thread thread_;
};

}  // namespace worlds
