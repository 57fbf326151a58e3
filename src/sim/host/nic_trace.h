// The trace of one simulated NIC: what its engine records, at the time of the simulation.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nic/trace.h"
#include "sim/core/clockwork.h"
#include "sim/core/ids.h"

namespace nerve::sim {

class NicTrace {
 public:
  NicTrace(NodeId node, std::uint64_t messages)
      : node_{node}, room_{std::make_unique<Room>()}, messages_{messages} {}

  [[nodiscard]] NodeId node() const { return node_; }
  // For the engine. The clockwork must outlive its last call.
  nic::Trace& begin(const Clockwork& clockwork) {
    room_->clockwork = &clockwork;
    trace_ = std::make_unique<nic::Trace>(
        nic::TraceRoom{
            .records = room_->records,
            .count = &room_->count,
            .clock = [](const void* room) { return static_cast<const Room*>(room)->now(); },
            .context = room_.get()},
        messages_);
    return *trace_;
  }
  [[nodiscard]] std::span<const nic::TraceRecord> records() const {
    return std::span{room_->records}.first(std::min<std::uint64_t>(room_->count, kCapacity));
  }
  [[nodiscard]] std::uint64_t lost() const { return room_->count - records().size(); }

 private:
  static constexpr std::size_t kCapacity = std::size_t{1} << 20;
  struct Room {
    [[nodiscard]] std::uint64_t now() const { return clockwork->now().picoseconds() / 1000; }
    const Clockwork* clockwork{};
    std::atomic<std::uint64_t> count{};
    std::vector<nic::TraceRecord> records = std::vector<nic::TraceRecord>(kCapacity);
  };

  NodeId node_;
  std::unique_ptr<Room> room_;
  std::unique_ptr<nic::Trace> trace_;
  std::uint64_t messages_;
};

}  // namespace nerve::sim
