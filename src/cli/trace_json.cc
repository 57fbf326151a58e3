// A trace document as JSON, "nerve-trace-1" (docs/trace.md).
#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/trace_document.h"
#include "host/diagnostics/trace_names.h"

namespace nerve::cli {
namespace {

using Json = nlohmann::ordered_json;

Json steps() {
  Json list = Json::array();
  for (std::uint8_t i = 1; i < nic::kTraceSteps; ++i) {
    const host::TraceStepName& step = host::name_of(static_cast<nic::TraceStep>(i));
    list.push_back({{"name", step.name}, {"module", step.module}, {"text", step.text}});
  }
  return list;
}

Json ends(const TraceDocument& document) {
  Json list = Json::array();
  for (std::size_t i = 0; i < document.ends.size(); ++i) {
    const TraceEnd& end = document.ends[i];
    list.push_back({{"id", i},
                    {"name", end.name},
                    {"pid", end.pid},
                    {"device", end.device},
                    {"address", end.address}});
  }
  return list;
}

Json qps(const TraceDocument& document) {
  Json list = Json::array();
  for (const TraceQp& qp : document.qps) {
    list.push_back({{"end", qp.end},
                    {"qpn", qp.qpn},
                    {"type", qp.type},
                    {"peer_end", qp.peer_end},
                    {"peer_qpn", qp.peer_qpn},
                    {"messages", qp.messages},
                    {"traced", qp.traced}});
  }
  return list;
}

Json messages(const TraceDocument& document) {
  Json list = Json::array();
  for (const TraceMessage& message : document.messages) {
    list.push_back({{"end", message.end},
                    {"qpn", message.qpn},
                    {"op", message.op},
                    {"bytes", message.bytes},
                    {"peer_end", message.peer_end},
                    {"peer_qpn", message.peer_qpn},
                    {"begin", message.begin},
                    {"finish", message.finish},
                    {"status", message.status},
                    {"retransmitted", message.retransmitted}});
  }
  return list;
}

// Written directly: a document has up to a million of them. Steps count from zero here.
std::string events(const TraceDocument& document) {
  std::string text;
  for (const TraceEvent& e : document.events) {
    fmt::format_to(std::back_inserter(text), "{}[{},{},{},{},{},{},{},{},{},{}]",
                   text.empty() ? "" : ",\n", e.t, e.end, static_cast<int>(e.step) - 1, e.qpn,
                   e.psn, e.bytes, e.message, e.packet, e.opcode, e.detail);
  }
  return text;
}

}  // namespace

std::string trace_json(const TraceDocument& document) {
  Json json;
  json["format"] = "nerve-trace-1";
  json["title"] = document.title;
  json["simulated"] = document.simulated;
  json["ends"] = ends(document);
  json["qps"] = qps(document);
  json["modules"] = host::kTraceModules;
  json["steps"] = steps();
  json["opcodes"] = document.opcodes;
  json["details"] = document.details;
  json["messages"] = messages(document);
  json["notes"] = document.notes;
  json["columns"] = {"t",     "end",     "step",   "qpn",    "psn",
                     "bytes", "message", "packet", "opcode", "detail"};
  // The title may contain any bytes, but JSON strings must be UTF-8.
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();
  return text + ",\"events\":[" + events(document) + "]}\n";
}

}  // namespace nerve::cli
