// The machine-readable report: one JSON object per line. docs/wire.md lists the fields.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/capture_report.h"
#include "host/seal/suites.h"
#include "wire/describe.h"
#include "wire/mad_peek.h"
#include "wire/selective_nak.h"

namespace nerve::cli {
namespace {

using Json = nlohmann::ordered_json;

// A file name may contain any bytes, but JSON strings must be UTF-8.
std::string print(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string opcode_name(std::uint8_t code) {
  const wire::OpcodeInfo* info = wire::find_opcode(code);
  return info != nullptr ? info->name : fmt::format("{:#04x}", code);
}

// 64-bit numbers are strings, because many JSON readers keep only 53 bits.
std::string hex(std::uint64_t value) { return fmt::format("{:#x}", value); }

Json bth_json(const wire::Bth& bth) {
  return {{"opcode", bth.opcode},
          {"dest_qp", bth.dest_qp.value()},
          {"psn", bth.psn.value()},
          {"ack_request", bth.ack_request},
          {"solicited", bth.solicited},
          {"migrated", bth.migrated},
          {"pad", bth.pad},
          {"version", bth.version},
          {"pkey", bth.pkey.value()},
          {"fecn", bth.fecn},
          {"becn", bth.becn}};
}

void add_extended(Json& json, const wire::Headers& headers, wire::HeaderSet set) {
  using enum wire::HeaderSet;
  if (contains(set, kDeth)) {
    json["deth"] = {{"qkey", headers.deth.qkey}, {"source_qp", headers.deth.source_qp.value()}};
  }
  if (contains(set, kXrcEth)) json["xrceth"] = {{"srq", headers.xrc_srq}};
  if (contains(set, kFeth)) {
    json["feth"] = {{"placement", headers.feth.placement},
                    {"selectivity", headers.feth.selectivity}};
  }
  if (contains(set, kReth)) {
    json["reth"] = {{"address", hex(headers.reth.address)},
                    {"rkey", headers.reth.rkey.value()},
                    {"length", headers.reth.length}};
  }
  if (contains(set, kAtomicEth)) {
    json["atomiceth"] = {{"address", hex(headers.atomic.address)},
                         {"rkey", headers.atomic.rkey.value()},
                         {"swap_or_add", hex(headers.atomic.swap_or_add)},
                         {"compare", hex(headers.atomic.compare)}};
  }
  if (contains(set, kAeth)) {
    json["aeth"] = {{"syndrome", headers.aeth.syndrome},
                    {"meaning", wire::describe_syndrome(headers.aeth.syndrome)},
                    {"msn", headers.aeth.msn}};
    if (const auto arrived = wire::arrived_out_of_order(headers.bth.psn, headers.aeth)) {
      json["aeth"]["arrived"] = arrived->first.value();
      json["aeth"]["arrived_packets"] = arrived->count;
    }
  }
  if (contains(set, kAtomicAckEth)) json["atomicacketh"] = {{"original", hex(headers.atomic_ack)}};
  if (contains(set, kImmDt)) json["immediate"] = headers.immediate;
  if (contains(set, kIeth)) json["invalidate"] = headers.invalidate.value();
}

Json seal_json(const host::SealedPacket& sealed) {
  Json json{{"outcome", to_string(sealed.outcome)}, {"bytes", sealed.bytes}};
  const seal::Header& header = sealed.header;
  switch (sealed.outcome) {
    case host::SealOutcome::kCall:
      json["number"] = hex(header.counter);
      json["invitation"] = header.spi;
      break;
    case host::SealOutcome::kAnswer:
      json["number"] = hex(header.counter);
      break;
    case host::SealOutcome::kInvitation:
      json["invitation"] = header.spi;
      break;
    case host::SealOutcome::kUnknown:
      break;
    default:
      json["spi"] = header.spi;
      json["epoch"] = sealed.epoch;
      json["counter"] = hex(header.counter);
  }
  if (sealed.opened()) json["suite"] = host::name_of(sealed.suite);
  return json;
}

class JsonReport : public CaptureReport {
 public:
  explicit JsonReport(std::string file) : file_{std::move(file)} {}

  void packet(const CaptureCounts& counts, const wire::CaptureRecord& record,
              const wire::Packet& packet) override {
    Json json = head(counts, record, packet, opcode_name(packet.headers.bth.opcode));
    add_contents(json, packet);
    json["icrc"] = packet.icrc == wire::IcrcVerdict::kGood ? "good" : "bad";
    fmt::print("{}\n", print(json));
  }

  void sealed_packet(const CaptureCounts& counts, const wire::CaptureRecord& record,
                     const host::SealedPacket& sealed) override {
    Json json = head(counts, record, sealed.packet, name_of(sealed));
    if (sealed.outcome == host::SealOutcome::kOpened) add_contents(json, sealed.packet);
    json["sealed"] = seal_json(sealed);
    fmt::print("{}\n", print(json));
  }

  void summary(const CaptureCounts& counts) override {
    Json opcodes = Json::object();
    for (const auto& [code, count] : counts.opcodes) opcodes[opcode_name(code)] = count;
    const Json json{{"file", file_},
                    {"summary",
                     {{"packets", counts.packets()},
                      {"icrc_good", counts.good},
                      {"icrc_bad", counts.bad},
                      {"skipped", counts.skipped},
                      {"undecodable", counts.undecodable},
                      {"uncut_trains", counts.trains},
                      {"sealed", counts.sealed},
                      {"opened", counts.opened},
                      {"not_authentic", counts.not_authentic},
                      {"no_key", counts.no_key},
                      {"handshake", counts.handshake},
                      {"opcodes", opcodes}}}};
    fmt::print("{}\n", print(json));
  }

 private:
  [[nodiscard]] Json head(const CaptureCounts& counts, const wire::CaptureRecord& record,
                          const wire::Packet& packet, const std::string& name) const {
    const wire::Flow& flow = packet.flow;
    return {{"file", file_},
            {"packet", counts.frames},
            {"time_ns", record.time_ns},
            {"source", to_string(flow.source)},
            {"source_port", flow.source_port},
            {"destination", to_string(flow.destination)},
            {"traffic_class", flow.traffic_class},
            {"hop_limit", flow.hop_limit},
            {"name", name},
            {"bth", bth_json(packet.headers.bth)}};
  }
  static void add_contents(Json& json, const wire::Packet& packet) {
    const wire::Headers& headers = packet.headers;
    if (const wire::OpcodeInfo* info = wire::find_opcode(headers.bth.opcode)) {
      add_extended(json, headers, info->headers);
    }
    json["payload_length"] = packet.payload.size();
    if (const auto mad = wire::peek_mad(headers, packet.payload)) {
      json["mad"] = {{"class", mad->management_class},
                     {"method", mad->method},
                     {"attribute", mad->attribute},
                     {"transaction", hex(mad->transaction)}};
    }
  }

  std::string file_;
};

}  // namespace

std::unique_ptr<CaptureReport> make_json_report(std::string file) {
  return std::make_unique<JsonReport>(std::move(file));
}

}  // namespace nerve::cli
