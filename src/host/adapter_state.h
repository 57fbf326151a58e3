// An adapter's part in one shard: the engine, its addresses, and who is told of its events.
#pragma once

#include <cstdint>
#include <vector>

#include "host/adapter.h"
#include "host/devices/interfaces.h"
#include "nic/burst.h"

namespace nerve::host {

class Shard;

// Guarded by the shard's lock.
struct Adapter::State {
  // `first` is the adapter's in the primary shard; null: this becomes it.
  State(Shard& in, const Device& given, State* first);
  ~State();

  [[nodiscard]] bool owns(const wire::Gid& gid) const;
  // Takes over what has changed of the interface; none: it is gone.
  void update(const Interface* changed);
  void follow(const State& other);  // has the same addresses from now on
  void transmit(Time at);
  void tell_events();
  void tell_cm_events();

  Shard& shard;
  const Device device;            // as it was opened
  std::vector<wire::Gid> gids;    // as they are now
  std::uint32_t interface_index;  // likewise; zero: it is gone
  const bool by_direct_path;      // peers may act on its memory (nic/direct_path.h)
  nic::Nic nic;
  nic::TxBurst burst{256};
  std::vector<EventTarget*> listeners;
  CmListener* cm_listener{};
  std::uint32_t waiting_posts{};  // since something was last sent
};

}  // namespace nerve::host
