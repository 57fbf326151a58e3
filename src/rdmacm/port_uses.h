// Which identifiers of this process use which ports of rdma_cm, and when a port goes back to the
// host.
//
// Two kinds of use: an identifier is bound to a port; or a request came to a listener there and is
// not settled yet, so that its peer may ask again, at the port, whether the listener is still there
// or not. Guarded by the registry's lock.
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
  // The port that `id.local` names, or any. Zero or errno.
  [[nodiscard]] int take(host::PortSpace& ports, Identifier& id);
  // Whether another identifier of this process wants the same as `id`, which has a port.
  [[nodiscard]] bool clashes(const Identifier& id) const;
  // What it took, if it took one.
  void give_back(Identifier& id);

  // A request came to a listener at this port.
  void begin_request(Identifier& id);
  // It has been answered for good, or is over: nobody asks again.
  void end_request(Identifier& id);

 private:
  using Key = std::pair<host::PortSpace::Space, std::uint16_t>;
  struct Uses {
    std::vector<const Identifier*> bound;
    std::uint32_t requests{};
  };
  static Key key_of(const Identifier& id);
  void settle(const Key& key);

  host::PortSpace* ports_{};  // of the process, once there is one
  std::map<Key, Uses> uses_;
};

}  // namespace nerve::rdmacm
