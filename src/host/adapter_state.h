// An adapter's state in one shard: the engine, its addresses, and the listeners for its events.
#pragma once

#include <cstdint>
#include <vector>

#include "host/adapter.h"
#include "host/devices/interfaces.h"
#include "host/peers/statistics_layout.h"
#include "nic/burst.h"

namespace nerve::host {

class GpuMemory;
class Shard;

// Guarded by the shard's lock.
struct Adapter::State {
  // `first` is the adapter's state in the primary shard; null if this one is for the primary shard.
  State(Shard& in, const Device& given, State* first);
  ~State();

  [[nodiscard]] bool owns(const wire::Gid& gid) const;
  // Applies the current state of the interface; null means that the interface is gone.
  void update(const Interface* changed);
  void follow(const State& other);  // copies the other state's addresses
  void transmit(Time at);
  void deliver_events() {
    if (nic.any_event()) [[unlikely]]
      deliver_nic_events();
    if (cm_listener != nullptr) deliver_cm_events();
  }
  void deliver_nic_events();
  void deliver_cm_events();

  Shard& shard;
  const Device device;            // as it was when opened
  std::vector<wire::Gid> gids;    // current
  std::uint32_t interface_index;  // current; zero if the interface is gone
  const bool by_direct_path;      // peers may access its memory directly (nic/direct_path.h)
  GpuMemory& gpu_memory;
  DeviceCounters own_counters;  // used if there are no shared ones
  DeviceCounters& counters;
  nic::Nic nic;
  nic::TxBurst burst{256};
  std::vector<EventTarget*> listeners;
  CmListener* cm_listener{};
  std::uint32_t waiting_posts{};  // since the last transmit
};

}  // namespace nerve::host
