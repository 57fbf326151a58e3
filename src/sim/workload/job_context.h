// Where a job runs: what it sends by, where its ranks are, and the plain numbers of the machines
// that its bounds are worked out from. Jobs know nothing else of the network.
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
  std::uint32_t number{};                       // of the job: comes back in Token::job
  std::vector<PlaceId> places{};                // of each rank
  std::vector<std::uint32_t> server_of_rank{};  // as many
  std::vector<PlaceId> storage{};               // storage servers; none where there are none
  std::uint64_t seed{};

  Rate nic_rate{Rate::gigabits(400)};
  Rate interconnect{Rate::gigabits(3'600)};  // of each GPU, each way
  Rate storage_rate{};                       // of each storage server; zero: as its NIC
  std::uint32_t nics_per_server{1};
  std::uint32_t gpus_per_server{1};
  std::uint32_t mtu{4096};
  std::uint32_t header_bytes{82};  // around each packet, the gap after it included
  Duration interconnect_delay{};
  Duration network_delay{};  // of an empty network, from NIC to NIC
  // Where the network's delay depends on who talks to whom; may be empty.
  std::function<Duration(PlaceId from, PlaceId to)> delay_between{};

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(places.size()); }
};

}  // namespace nerve::sim
