// A thread that makes, uses and destroys objects of its own while a world runs: what two threads do
// to one device must not disturb either.
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
