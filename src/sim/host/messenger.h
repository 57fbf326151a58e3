// Messages between GPUs: the door through which workloads use a cluster.
//
// A message within a server crosses its interconnect; any other goes by a NIC of its sender, on a
// connection that is made the first time and kept.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/time.h"

namespace nerve::sim {

// A place that messages come from and go to: a GPU, or a storage server (numbered after all GPUs).
using PlaceId = Id<struct PlaceTag, std::uint32_t, 32>;

// What a workload calls its message by: whose it is, and what it means to them.
struct Token {
  std::uint32_t job{};
  std::uint32_t subject{};  // a rank
  std::uint32_t argument{};
};

struct Message {
  PlaceId from{};
  PlaceId to{};
  std::uint64_t bytes{};
  bool on_front_end{};
  Token token{};  // given back to the job when all bytes are there
};

class Messenger {
 public:
  virtual ~Messenger() = default;
  virtual void send(const Message& message) = 0;
  // Calls the job back after this time.
  virtual void after(Duration delay, const Token& token) = 0;
  [[nodiscard]] virtual Time now() const = 0;
};

}  // namespace nerve::sim
