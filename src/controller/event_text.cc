#include "controller/event_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "wire/describe.h"

namespace nerve::controller {
namespace {

using Kind = PlannerEvent::Kind;
using Reason = PlannerEvent::Reason;

std::string text_of(const PairKey& pair) {
  return wire::to_string(pair.source) + " -> " + wire::to_string(pair.destination);
}

std::string text_of(const Link& link) {
  return wire::to_string(link.from) + "-" + wire::to_string(link.to);
}

const char* name_of(Reason reason) {
  switch (reason) {
    case Reason::kShared:
      return "shared";
    case Reason::kLost:
      return "lost";
    case Reason::kStalled:
      return "stalled";
    case Reason::kSuspect:
      return "suspect";
    case Reason::kPeerStalled:
      return "peer stalled";
    case Reason::kUnmeasured:
      break;
  }
  return "not measured";
}

std::string why(const PlannerEvent& event) {
  switch (event.reason) {
    case Reason::kShared:
      return fmt::format("{} flow{} shared link {}", event.flows, event.flows == 1 ? "" : "s",
                         text_of(event.link));
    case Reason::kLost:
      return "its path does not answer any more";
    case Reason::kStalled:
      return "it retransmits and does not advance";
    case Reason::kSuspect:
      return "its path has a suspected link";
    case Reason::kPeerStalled:
      return "its peer retransmits and does not advance";
    case Reason::kUnmeasured:
      break;
  }
  return "the path of that port is not known";
}

}  // namespace

std::string line_of(const PlannerEvent& event) {
  switch (event.kind) {
    case Kind::kMoved:
      return fmt::format("moved qp 0x{:x} {} from port {} to {}: {}", event.qpn.value(),
                         text_of(event.pair), event.from, event.to, why(event));
    case Kind::kSuspected:
      return fmt::format("suspects link {}: a path over it was lost, {}", text_of(event.link),
                         text_of(event.pair));
    case Kind::kAdvised:
      break;
  }
  return fmt::format("advice: {} needs {} QPs to use its NIC's rate, and has {}",
                     text_of(event.pair), event.qps, event.flows);
}

nlohmann::json json_of(const PlannerEvent& event) {
  nlohmann::json json{{"host", event.host},
                      {"source", wire::to_string(event.pair.source)},
                      {"destination", wire::to_string(event.pair.destination)}};
  switch (event.kind) {
    case Kind::kMoved:
      json["event"] = "moved";
      json["qpn"] = event.qpn.value();
      json["peer"] = event.peer.value();
      json["from_port"] = event.from;
      json["to_port"] = event.to;
      json["reason"] = name_of(event.reason);
      if (event.reason == Reason::kShared) {
        json["flows"] = event.flows;
        json["link"] = {wire::to_string(event.link.from), wire::to_string(event.link.to)};
      }
      break;
    case Kind::kSuspected:
      json["event"] = "suspected";
      json["link"] = {wire::to_string(event.link.from), wire::to_string(event.link.to)};
      break;
    case Kind::kAdvised:
      json["event"] = "advised";
      json["qps"] = event.qps;
      json["has"] = event.flows;
      break;
  }
  return json;
}

}  // namespace nerve::controller
