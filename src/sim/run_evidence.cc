#include "sim/run_evidence.h"

#include <algorithm>

namespace nerve::sim {

Congestion::Hints hints_for(const Scenario& scenario) {
  using enum nic::CcAlgorithm;
  const nic::CcAlgorithm algorithm = scenario.nics.flow_control.algorithm;
  const bool rdma = scenario.nics.transport == Transport::kRdma;
  return {.faults = !scenario.faults.empty(),
          .rate_control = rdma && algorithm != kNone,
          .short_queues = rdma && algorithm != kNone && algorithm != kDcqcn};
}

JobEvidence evidence_of(const JobContext& context, const ClusterShape& shape, bool on_front_end) {
  JobEvidence evidence{
      .half_trip = context.network_delay, .nic_rate = context.nic_rate, .nics = {}};
  evidence.on_cable = 1 + static_cast<double>(context.header_bytes) / context.mtu;
  const auto add = [&](PlaceId place) {
    const bool front = shape.by_front_end({place, place, 0, on_front_end, {}});
    if (front) return evidence.nics.push_back(shape.nic_of(place, place, 0, true).value());
    const std::uint32_t lanes = shape.is_storage(place) ? shape.nics : shape.nics_of_gpu();
    const std::uint32_t first = shape.is_storage(place)
                                    ? shape.server_of(place) * shape.nics
                                    : shape.nic_of(place, place, 0, false).value();
    for (std::uint32_t lane = 0; lane < lanes; ++lane) evidence.nics.push_back(first + lane);
  };
  for (const PlaceId place : context.places) add(place);
  for (const PlaceId place : context.storage) add(place);
  std::ranges::sort(evidence.nics);
  evidence.nics.erase(std::unique(evidence.nics.begin(), evidence.nics.end()), evidence.nics.end());
  return evidence;
}

}  // namespace nerve::sim
