// Where things are in a cluster: servers with their GPUs and NICs, storage servers after them, and
// the nodes of the graph that their NICs are.
//
// The back-end network comes first in the graph, server after server with all its NICs; storage
// servers follow the others. In the front-end network every server has one NIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/core/ids.h"
#include "sim/host/messenger.h"

namespace nerve::sim {

struct ClusterShape {
  std::uint32_t servers{};
  std::uint32_t gpus{};  // of a server
  std::uint32_t nics{};  // of a server, storage servers among them
  std::uint32_t storage{};
  bool storage_on_front_end{};
  std::optional<std::uint32_t> front_end;  // the node of the first server's NIC there
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
  // The first NIC of a GPU. GPUs share them evenly; with more NICs than GPUs each has several.
  [[nodiscard]] std::uint32_t rail_of(PlaceId gpu) const { return gpu_of(gpu) * nics / gpus; }
  [[nodiscard]] std::uint32_t nics_of_gpu() const { return std::max(1U, nics / gpus); }

  // By which network. Storage is where it is, whatever a message asks for.
  [[nodiscard]] bool by_front_end(const Message& message) const {
    if (!front_end) return false;
    const bool to_storage = is_storage(message.from) || is_storage(message.to);
    return to_storage ? storage_on_front_end : message.on_front_end;
  }
  // The NIC that `place` uses to speak with `other`, on one of the lanes between them. Storage
  // servers answer on the rail that they are spoken to, so that rails need not meet.
  [[nodiscard]] NodeId nic_of(PlaceId place, PlaceId other, std::uint32_t lane,
                              bool on_front_end) const {
    const std::uint32_t server = server_of(place);
    if (on_front_end) return NodeId{*front_end + server};
    const PlaceId whose = is_storage(place) ? other : place;
    const std::uint32_t rail = is_storage(whose) ? 0 : rail_of(whose) + lane % nics_of_gpu();
    return NodeId{server * nics + rail};
  }

  // The GPU beside `from` that is on the rail of `to`, when a message has to go by it: the one with
  // the receiver's number.
  [[nodiscard]] std::optional<PlaceId> relay_for(PlaceId from, PlaceId to) const {
    if (!relay_across_rails || is_storage(from) || is_storage(to)) return std::nullopt;
    if (server_of(from) == server_of(to) || rail_of(from) == rail_of(to)) return std::nullopt;
    return PlaceId{server_of(from) * gpus + gpu_of(to)};
  }
};

}  // namespace nerve::sim
