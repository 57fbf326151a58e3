// The first half of making a trace document: QPs with their peers, and packets with their arrival.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/trace_document.h"

namespace nerve::cli {

struct RecordedEvent {
  nic::TraceRecord record;
  std::int32_t end{};
  std::int32_t message{-1};
  std::int32_t packet{-1};
};

struct TraceRecords {
  std::vector<RecordedEvent> events;                  // by time
  std::vector<std::vector<std::uint64_t>> addresses;  // of each end
  [[nodiscard]] bool owns(std::int32_t end, std::uint64_t address) const;
};

// The QPs that the records name, in the order of end and number.
[[nodiscard]] std::vector<TraceQp> find_qps(const TraceRecords& all);

// Gives a packet's sending and its arrival, or its loss by fault injection, the same number. A
// packet that was sent again is another packet.
void pair_packets(TraceRecords& all, const std::vector<TraceQp>& qps);

}  // namespace nerve::cli
