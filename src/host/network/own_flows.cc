#include "host/network/own_flows.h"

#include <algorithm>
#include <mutex>

#include "host/runtime/clock.h"
#include "host/shard.h"

namespace nerve::host {
namespace {

constexpr std::uint32_t kPlacesAtOnce = 512;

// Adds the flows among some QPs of an adapter. Returns where to go on.
std::optional<std::uint32_t> add_flows(Shard& shard, std::size_t adapter, std::uint32_t from,
                                       std::vector<FlowReport>& to) {
  if (adapter >= shard.adapters.size() || shard.network.udp() == nullptr) return std::nullopt;
  const link::UdpSender& sender = shard.network.udp()->sender();
  const Time at = now();
  const nic::QpFlows listed = shard.adapters[adapter]->nic.list_flows(from, kPlacesAtOnce);
  for (const nic::QpFlow& one : listed.flows) {
    if (!goes_by_udp(shard, one.flow.destination, one.peer)) continue;
    to.push_back({.qpn = one.qpn,
                  .peer = one.peer,
                  .source = one.flow.source,
                  .destination = one.flow.destination,
                  .source_port = sender.real_port(one.flow.source_port, at),
                  .traffic_class = one.flow.traffic_class,
                  .bytes_sent = one.bytes_sent,
                  .packets_retransmitted = one.packets_retransmitted});
  }
  return listed.next;
}

// Whether the QP has another port now; nothing if the adapter refuses the order.
std::optional<bool> carry_out(Adapter::State& adapter, const SteeringOrder& order) {
  const auto steered = adapter.nic.steer_flow(
      order.qpn, order.peer,
      {.source_port = order.source_port, .rate_limit = Rate::bits_per_second(order.rate_limit)});
  return steered ? std::optional{*steered} : std::nullopt;
}

}  // namespace

bool goes_by_udp(const Shard& shard, const wire::Gid& destination, Qpn peer) {
  if (!shard.exchange.is_local(destination) || shard.config.transport == Transport::kUdp) {
    return true;
  }
  const std::uint32_t slot = slot_of(peer);
  return slot != shard.slot && !shard.exchange.has_ring_to(slot);
}

std::vector<FlowReport> flows_of(Shard& shard) {
  std::vector<FlowReport> flows;
  std::size_t adapters = 1;  // at least; how many it is known with the lock
  for (std::size_t i = 0; i < adapters; ++i) {
    for (std::optional<std::uint32_t> from = 0; from && flows.size() < kMostFlows;) {
      // A program that polls holds it most of the time: only a waiting thread gets it.
      const std::scoped_lock guard{shard.lock};
      adapters = shard.adapters.size();
      from = add_flows(shard, i, *from, flows);
    }
  }
  return flows;
}

SteeringResult steer(Shard& shard, std::span<const SteeringOrder> orders) {
  SteeringResult result;
  const std::scoped_lock guard{shard.lock};
  if (shard.adapters.empty()) return {.redirected = 0, .refused = orders.size()};
  for (const SteeringOrder& order : orders) {
    const bool carried_out = std::ranges::any_of(shard.adapters, [&](Adapter::State* adapter) {
      const std::optional<bool> changed = carry_out(*adapter, order);
      if (changed && *changed) {
        ++result.redirected;
        ++adapter->counters.steering.flows_redirected;
      }
      return changed.has_value();
    });
    if (carried_out) continue;
    ++result.refused;
    ++shard.adapters.front()->counters.steering.orders_refused;  // it is not known whose it was
  }
  return result;
}

}  // namespace nerve::host
