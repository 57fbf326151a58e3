// The uses of rdma_cm ports by identifiers of this process, and when a port is released.
//
// A port is used by an identifier that is bound to it, or by a request to a listener there that is
// not settled yet: its peer may retransmit it to the port, even if the listener is gone. Guarded by
// the registry's lock.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "host/peers/port_space.h"
#include "rdmacm/identifier.h"

namespace nerve::rdmacm {

class PortUses {
 public:
  // Binds the port in `id.local`, or any port if that is zero. Returns zero or errno.
  [[nodiscard]] int take(host::PortSpace& ports, Identifier& id);
  // True if another identifier of this process conflicts with `id`, which has a port.
  [[nodiscard]] bool clashes(const Identifier& id) const;
  // Releases the port that `id` took, if any.
  void give_back(Identifier& id);

  // A request came to a listener at this port.
  void begin_request(Identifier& id);
  // The request is finally answered or over: the peer will not retransmit it.
  void end_request(Identifier& id);

 private:
  using Key = std::pair<host::PortSpace::Space, std::uint16_t>;
  struct Uses {
    std::vector<const Identifier*> bound;
    std::uint32_t requests{};
  };
  static Key key_of(const Identifier& id);
  void settle(const Key& key);

  host::PortSpace* ports_{};  // set by the first take()
  std::map<Key, Uses> uses_;
};

}  // namespace nerve::rdmacm
