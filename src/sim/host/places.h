// The places of a cluster: servers with GPUs and NICs, then storage servers, and the graph nodes of
// their NICs.
//
// The back-end network comes first in the graph: the NICs of each server in turn, then those of the
// storage servers. In the front-end network every server has one NIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/core/ids.h"
#include "sim/host/messenger.h"

namespace nerve::sim {

struct ClusterShape {
  std::uint32_t servers{};
  std::uint32_t gpus{};  // per server
  std::uint32_t nics{};  // per server, also for storage servers
  std::uint32_t storage{};
  bool storage_on_front_end{};
  std::optional<std::uint32_t> front_end;  // the graph node of the first server's front-end NIC
  bool relay_across_rails{};

  [[nodiscard]] std::uint32_t all_gpus() const { return servers * gpus; }
  [[nodiscard]] PlaceId storage_place(std::uint32_t number) const {
    return PlaceId{all_gpus() + number};
  }
  [[nodiscard]] bool is_storage(PlaceId place) const { return place.value() >= all_gpus(); }
  [[nodiscard]] bool exists(PlaceId place) const { return place.value() < all_gpus() + storage; }
  [[nodiscard]] std::uint32_t server_of(PlaceId place) const {
    return is_storage(place) ? servers + (place.value() - all_gpus()) : place.value() / gpus;
  }
  [[nodiscard]] std::uint32_t gpu_of(PlaceId place) const { return place.value() % gpus; }
  // The first NIC of a GPU. GPUs share NICs evenly; with more NICs than GPUs each GPU has several.
  [[nodiscard]] std::uint32_t rail_of(PlaceId gpu) const { return gpu_of(gpu) * nics / gpus; }
  [[nodiscard]] std::uint32_t nics_of_gpu() const { return std::max(1U, nics / gpus); }

  // Whether a message uses the front end. Messages to or from storage use the network of the
  // storage.
  [[nodiscard]] bool by_front_end(const Message& message) const {
    if (!front_end) return false;
    const bool to_storage = is_storage(message.from) || is_storage(message.to);
    return to_storage ? storage_on_front_end : message.on_front_end;
  }
  // The NIC of `place` for lane `lane` to `other`. A storage server uses the rail of its peer, so
  // the rails need not be connected.
  [[nodiscard]] NodeId nic_of(PlaceId place, PlaceId other, std::uint32_t lane,
                              bool on_front_end) const {
    const std::uint32_t server = server_of(place);
    if (on_front_end) return NodeId{*front_end + server};
    const PlaceId whose = is_storage(place) ? other : place;
    const std::uint32_t rail = is_storage(whose) ? 0 : rail_of(whose) + lane % nics_of_gpu();
    return NodeId{server * nics + rail};
  }

  // The GPU that relays a message: on the sender's server, with the receiver's index. None if the
  // message needs no relay.
  [[nodiscard]] std::optional<PlaceId> relay_for(PlaceId from, PlaceId to) const {
    if (!relay_across_rails || is_storage(from) || is_storage(to)) return std::nullopt;
    if (server_of(from) == server_of(to) || rail_of(from) == rail_of(to)) return std::nullopt;
    return PlaceId{server_of(from) * gpus + gpu_of(to)};
  }
};

}  // namespace nerve::sim
