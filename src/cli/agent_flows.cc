#include "cli/agent_flows.h"

#include <algorithm>
#include <utility>

#include "host/peers/membership.h"

namespace nerve::cli {
namespace {

using controller::LiveFlow;

LiveFlow live(const host::FlowReport& flow) {
  return {.qpn = flow.qpn,
          .peer = flow.peer,
          .source = flow.source,
          .destination = flow.destination,
          .port = flow.source_port,
          .traffic_class = flow.traffic_class,
          .bytes = flow.bytes_sent,
          .retransmitted = flow.packets_retransmitted};
}

// The same flow by the same path: only the counts may differ.
bool same(const LiveFlow& a, const LiveFlow& b) {
  return a.qpn == b.qpn && a.peer == b.peer && a.source == b.source &&
         a.destination == b.destination && a.port == b.port && a.traffic_class == b.traffic_class;
}

std::uint32_t number(const LiveFlow& flow) { return flow.qpn.value(); }

}  // namespace

void AgentFlows::take(const host::FlowsOfHost& host) {
  std::vector<LiveFlow> now;
  for (const host::FlowReport& flow : host.flows) now.push_back(live(flow));
  if (!host.complete) {
    const std::size_t answered = now.size();
    for (const LiveFlow& flow : flows_) {
      const auto of_its_slot = [&](const LiveFlow& one) {
        return host::slot_of(one.qpn) == host::slot_of(flow.qpn);
      };
      const auto end = now.begin() + static_cast<std::ptrdiff_t>(answered);
      if (std::none_of(now.begin(), end, of_its_slot)) now.push_back(flow);
    }
  }
  std::ranges::stable_sort(now, {}, number);
  if (now.size() > controller::kMaxFlows) now.resize(controller::kMaxFlows);
  changed_ = changed_ || !std::ranges::equal(now, flows_, same);
  for (const LiveFlow& flow : flows_) {
    const auto after = std::ranges::lower_bound(now, number(flow), {}, number);
    retransmits_ = retransmits_ || (after != now.end() && same(*after, flow) &&
                                    after->retransmitted > flow.retransmitted);
  }
  flows_ = std::move(now);
}

}  // namespace nerve::cli
