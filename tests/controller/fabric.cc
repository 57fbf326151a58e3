#include "tests/controller/fabric.h"

#include "base/bytes.h"
#include "base/prng.h"

namespace nerve::controller {

LiveFlow& Fabric::add_flow(std::uint32_t from, std::uint32_t to, std::uint16_t port) {
  const auto number = static_cast<std::uint32_t>(flows[from].size() + 1) + (from << 16U);
  return flows[from].emplace_back(LiveFlow{.qpn = Qpn{number},
                                           .peer = Qpn{number ^ 0x800000U},
                                           .source = host(from),
                                           .destination = host(to),
                                           .port = port});
}

std::uint32_t Fabric::middle_of(const LiveFlow& flow) const {
  std::uint64_t mixed = seed_;
  for (const wire::Gid& gid : {flow.source, flow.destination}) {
    mixed = Prng{mixed ^ load_be<4>(gid.bytes, 12)}.next();
  }
  return static_cast<std::uint32_t>(Prng{mixed ^ flow.port}.next() % middles_);
}

MeasuredPath Fabric::measure(const ProbeOrder& order, std::uint16_t port) {
  MeasuredPath path{.source = order.source,
                    .destination = order.destination,
                    .port = port,
                    .hops = {},
                    .lost = false};
  const std::uint32_t over =
      middle_of(LiveFlow{.source = order.source, .destination = order.destination, .port = port});
  path.hops = {kNear, middle(over), kFar};
  auto& before = answered_[{{.source = order.source, .destination = order.destination}, port}];
  if (dead.contains(over)) {
    path.hops = {kNear, middle(over), wire::Gid{}};
    path.lost = !before.empty();
  } else {
    before = path.hops;
  }
  return path;
}

void Fabric::send(LiveFlow& flow) const {
  constexpr std::uint64_t kBytes = 5'000'000;
  if (dead.contains(middle_of(flow))) {
    flow.retransmitted += 3;
  } else {
    flow.bytes += kBytes;
  }
}

std::size_t Fabric::step() {
  now += kStep;
  std::size_t count = 0;
  for (auto& [number, of_host] : flows) {
    Report report{.host = "host-" + std::to_string(number), .flows = {}, .paths = {}};
    for (LiveFlow& flow : of_host) send(flow);
    report.flows = of_host;
    for (const ProbeOrder& order : told_[number].probes) {
      for (const std::uint16_t port : order.ports) {
        if (probes_answered) report.paths.push_back(measure(order, port));
      }
    }
    planner.hear(number, report, now);
    Orders& given = told_[number];
    given = planner.orders_for(number, now);
    for (const FlowOrder& order : given.flows) {
      for (LiveFlow& flow : of_host) {
        if (flow.qpn == order.qpn && flow.peer == order.peer && order.port != 0) {
          flow.port = order.port;
        }
      }
    }
    count += given.flows.size();
    orders.push_back(given);
    for (PlannerEvent& event : planner.take_events()) events_.push_back(std::move(event));
  }
  return count;
}

std::vector<std::uint32_t> Fabric::spread() const {
  std::vector<std::uint32_t> result(middles_);
  for (const auto& [number, of_host] : flows) {
    for (const LiveFlow& flow : of_host) ++result[middle_of(flow)];
  }
  return result;
}

std::vector<PlannerEvent> Fabric::events(PlannerEvent::Kind kind) {
  std::vector<PlannerEvent> result;
  for (const PlannerEvent& event : events_) {
    if (event.kind == kind) result.push_back(event);
  }
  return result;
}

}  // namespace nerve::controller
