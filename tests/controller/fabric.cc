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

// Reports known paths that have been lost, and those that are back.
bool Fabric::check_paths(std::uint32_t number, Report& report) {
  constexpr int kCheck = 10;  // steps
  if (steps_ % kCheck != 0 || !probes_answered) return false;
  for (const auto& [place, hops] : answered_) {
    const auto& [pair, port] = place;
    if (pair.source != host(number) || hops.empty()) continue;
    const ProbeOrder order{.source = pair.source, .destination = pair.destination, .ports = {}};
    const MeasuredPath path = measure(order, port);
    if (path.lost == lost_.contains(place)) continue;
    if (path.lost) lost_.insert(place);
    if (!path.lost) lost_.erase(place);
    report.paths.push_back(path);
  }
  return !report.paths.empty();
}

// A program has bound it, so the prober cannot.
bool Fabric::is_in_use(const ProbeOrder& order, std::uint16_t port) const {
  for (const auto& [number, of_host] : flows) {
    for (const LiveFlow& flow : of_host) {
      if (flow.source == order.source && flow.port == port) return true;
    }
  }
  return false;
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
  constexpr int kSignOfLife = 20;  // steps
  now += kStep;
  ++steps_;
  std::size_t count = 0;
  for (auto& [number, of_host] : flows) {
    Report report{.host = "host-" + std::to_string(number), .flows = {}, .paths = {}};
    for (LiveFlow& flow : of_host) send(flow);
    report.flows = of_host;
    bool news = steps_ % kSignOfLife == 1 || !told_[number].flows.empty();
    for (const LiveFlow& flow : of_host) news |= dead.contains(middle_of(flow));
    for (const ProbeOrder& order : told_[number].probes) {
      for (const std::uint16_t port : order.ports) {
        if (!probes_answered || is_in_use(order, port)) continue;
        report.paths.push_back(measure(order, port));
        news = true;
      }
    }
    news |= check_paths(number, report);
    if (news) planner.hear(number, report, now);
    Orders& given = told_[number];
    given = planner.orders_for(number, now);
    for (const FlowOrder& order : given.flows) {
      for (LiveFlow& flow : of_host) {
        if (flow.qpn == order.qpn && flow.peer == order.peer && order.port != 0 && obeys) {
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
