// The flows of a shard that leave by UDP, and what a controller of paths orders for them
// (host/steering.h). Other processes of our user ask; the background thread answers.
#pragma once

#include <span>
#include <vector>

#include "host/peers/flow_messages.h"

namespace nerve::host {

class Shard;

// Whether packets to this QP leave by UDP. With the shard's lock.
[[nodiscard]] bool goes_by_udp(const Shard& shard, const wire::Gid& destination, Qpn peer);

// Without the lock, which is taken for a few hundred QPs at a time.
[[nodiscard]] std::vector<FlowReport> flows_of(Shard& shard);
// Without the lock. An order counts as refused if no QP of the shard has both numbers, or its port
// is none of RoCEv2.
SteeringResult steer(Shard& shard, std::span<const SteeringOrder> orders);

}  // namespace nerve::host
