// The environment of a job: its messenger, the places of its ranks, and the numbers that its bounds
// are computed from. Jobs know nothing else about the network.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/rate.h"
#include "base/time.h"
#include "sim/host/messenger.h"

namespace nerve::sim {

struct JobContext {
  Messenger& messenger;
  std::uint32_t number{};                       // of the job: Token::job
  std::vector<PlaceId> places{};                // per rank
  std::vector<std::uint32_t> server_of_rank{};  // per rank
  std::vector<PlaceId> storage{};               // empty if there are no storage servers
  std::uint64_t seed{};

  Rate nic_rate{Rate::gigabits(400)};        // of the slowest NIC
  Rate interconnect{Rate::gigabits(3'600)};  // per GPU and direction
  Rate storage_rate{};                       // per storage server; zero: as fast as its NIC
  std::uint32_t nics_per_server{1};
  std::uint32_t gpus_per_server{1};
  std::uint32_t mtu{4096};
  std::uint32_t header_bytes{82};     // per packet, with the inter-packet gap
  std::uint64_t least_chunk{16'384};  // shorter messages cost more than they gain by overlapping
  Duration interconnect_delay{};
  Duration network_delay{};  // from NIC to NIC in an empty network
  // For networks whose delay depends on the pair; may be empty.
  std::function<Duration(PlaceId from, PlaceId to)> delay_between{};
  // For networks whose NICs have different rates; may be empty.
  std::function<Rate(PlaceId place)> rate_of{};

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(places.size()); }
};

}  // namespace nerve::sim
