// The cores that run a NIC's TCP connections. A core is a server with a queue: it takes a
// connection, is busy for a known time, and takes the next. This class decides which connection is
// next and counts busy time; the work itself is in TcpNic.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

class TcpCores {
 public:
  explicit TcpCores(std::uint32_t count) : cores_(count) {}

  void enqueue(std::uint32_t core, std::uint32_t connection) {
    cores_[core].waiting.push_back(connection);
  }
  // The next connection, if the core is idle and one is waiting.
  std::optional<std::uint32_t> take(std::uint32_t core) {
    Core& here = cores_[core];
    if (here.busy || here.waiting.empty()) return std::nullopt;
    const std::uint32_t connection = here.waiting.front();
    here.waiting.pop_front();
    return connection;
  }
  void begin(std::uint32_t core, Duration work) {
    cores_[core].busy = true;
    used_ += work;
  }
  void end(std::uint32_t core) { cores_[core].busy = false; }

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(cores_.size()); }
  [[nodiscard]] Duration used() const { return used_; }  // total of all cores

 private:
  struct Core {
    std::deque<std::uint32_t> waiting;
    bool busy{};
  };
  std::vector<Core> cores_;
  Duration used_{};
};

}  // namespace nerve::sim
