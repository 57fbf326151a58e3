// What the traces of several processes say together: packets paired with their arrival, and events
// grouped into messages (docs/trace.md). A pure function of the records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/diagnostics/trace_layout.h"

namespace nerve::cli {

// What one shard of a process recorded.
struct RecordedTrace {
  std::uint32_t pid{};
  std::string program;
  std::string device;  // the first one
  std::string address;
  std::vector<std::uint64_t> addresses;  // of all devices: nic::short_address()
  std::uint64_t messages{};              // that each QP records
  std::uint64_t lost{};                  // records that did not fit
  std::vector<nic::TraceRecord> records;
};

struct TraceEnd {
  std::string name;
  std::uint32_t pid{};
  std::string device;
  std::string address;
};

struct TraceQp {
  std::int32_t end{};
  std::uint32_t qpn{};
  std::string type;
  std::int32_t peer_end{-1};
  std::int64_t peer_qpn{-1};
  std::uint64_t messages{};  // that it sent
  std::uint64_t traced{};    // ... of which so many are here
};

struct TraceMessage {
  std::int32_t end{};  // that posted it; if that is not traced, the one that received it
  std::uint32_t qpn{};
  std::string op;
  std::uint64_t bytes{};
  std::int32_t peer_end{-1};
  std::int64_t peer_qpn{-1};
  std::uint64_t begin{};
  std::uint64_t finish{};
  std::string status;
  std::uint32_t retransmitted{};  // packets
};

struct TraceEvent {
  std::uint64_t t{};  // nanoseconds since the first event
  std::int32_t end{};
  nic::TraceStep step{};
  std::int64_t qpn{-1};
  std::int64_t psn{-1};
  std::int64_t bytes{-1};
  std::int32_t message{-1};
  std::int32_t packet{-1};
  std::int32_t opcode{-1};
  std::int32_t detail{-1};
};

struct TraceDocument {
  std::string title;
  bool simulated{};
  std::vector<TraceEnd> ends;
  std::vector<TraceQp> qps;
  std::vector<std::string> opcodes;
  std::vector<std::string> details;
  std::vector<TraceMessage> messages;
  std::vector<TraceEvent> events;  // by time
  std::vector<std::string> notes;
};

[[nodiscard]] TraceDocument make_trace_document(std::string title,
                                                const std::vector<RecordedTrace>& traces);

// The document as JSON, "nerve-trace-1".
[[nodiscard]] std::string trace_json(const TraceDocument& document);
// The same as Chrome trace events, which Perfetto opens: a process for each end, a thread for each
// module, an arrow for each packet.
[[nodiscard]] std::string chrome_json(const TraceDocument& document);

}  // namespace nerve::cli
