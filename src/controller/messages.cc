#include "controller/messages.h"

#include <nlohmann/json.hpp>

#include "wire/describe.h"

namespace nerve::controller {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json) {
  // A host may have any bytes in its name.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const LiveFlow& flow) {
  return {{"qpn", flow.qpn.value()},
          {"peer", flow.peer.value()},
          {"source", wire::to_string(flow.source)},
          {"destination", wire::to_string(flow.destination)},
          {"port", flow.port},
          {"traffic_class", flow.traffic_class},
          {"bytes", flow.bytes},
          {"retransmitted", flow.retransmitted}};
}

Json json_of(const MeasuredPath& path) {
  Json hops = Json::array();
  for (const wire::Gid& hop : path.hops) hops.push_back(wire::to_string(hop));
  return {{"source", wire::to_string(path.source)},
          {"destination", wire::to_string(path.destination)},
          {"port", path.port},
          {"hops", std::move(hops)},
          {"lost", path.lost}};
}

Json json_of(const ProbeOrder& order) {
  return {{"source", wire::to_string(order.source)},
          {"destination", wire::to_string(order.destination)},
          {"ports", order.ports}};
}

Json json_of(const FlowOrder& order) {
  return {{"qpn", order.qpn.value()},
          {"peer", order.peer.value()},
          {"port", order.port},
          {"rate_limit", order.rate_limit}};
}

template <class T>
Json json_of(const std::vector<T>& list) {
  Json array = Json::array();
  for (const T& one : list) array.push_back(json_of(one));
  return array;
}

}  // namespace

std::string to_text(const Report& report) {
  return text_of(
      {{"host", report.host}, {"flows", json_of(report.flows)}, {"paths", json_of(report.paths)}});
}

std::string to_text(const Orders& orders) {
  return text_of({{"probes", json_of(orders.probes)}, {"flows", json_of(orders.flows)}});
}

}  // namespace nerve::controller
