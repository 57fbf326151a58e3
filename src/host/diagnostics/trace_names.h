// The names of what trace records have as numbers. Every function takes any number: records may
// come from a damaged file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/diagnostics/trace_layout.h"
#include "wire/gid.h"

namespace nerve::host {

struct TraceStepName {
  std::string_view name;
  std::uint8_t module;  // index into kTraceModules
  std::string_view text;
};

inline constexpr std::string_view kTraceModules[] = {
    "Application", "Verbs",      "QP Manager", "WQE Engine",         "DMA Engine", "Flow Control",
    "Ethernet",    "RX Handler", "CQ Manager", "Connection Manager", "Link"};

// Valid for every step but kNone.
[[nodiscard]] const TraceStepName& name_of(nic::TraceStep step);
// As records have it (nic::short_address).
[[nodiscard]] std::uint64_t short_trace_address(const wire::Gid& gid);
// Empty: none.
[[nodiscard]] std::string detail_text(std::uint16_t detail);
// The opcode of a record: that of a packet, a work request or a completion. Empty: it has none.
[[nodiscard]] std::string opcode_text(const nic::TraceRecord& record);
// "SEND", "WRITE": the operation of a post, fetch or direct record, or of a send completion.
[[nodiscard]] std::string operation_text(const nic::TraceRecord& record);
[[nodiscard]] std::string qp_type_text(std::uint16_t detail);
// Whether it is the completion of a receive, or a poll for one.
[[nodiscard]] bool is_receive(const nic::TraceRecord& record);
// Whether the packet answers a request of the peer.
[[nodiscard]] bool is_response(const nic::TraceRecord& record);

}  // namespace nerve::host
