// Reserves room on the outgoing link before frames are built.
//
// When a link fills up (a ring to another process), the engine must neither drop frames it has
// built nor delay frames for other destinations. So each turn of a QP asks first, and a QP that
// gets nothing is parked until Nic::resume(). This is the equivalent of priority flow control on a
// cable.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "wire/frame.h"

namespace nerve::nic {

class EgressGate {
 public:
  virtual ~EgressGate() = default;

  struct Request {
    const wire::Flow& flow;
    Qpn destination;
    bool reliable{};  // limited by acknowledgements; the link need not limit it
    std::uint32_t frames{};
  };
  // The number of these frames, of any size, that may be built now. A grant is valid until the
  // burst it was given for has been sent, whether used or not.
  virtual std::uint32_t grant(const Request& request) = 0;

  // Grants room for an acknowledgement, one frame without payload, when there is no room for other
  // frames. Some room is reserved for these, because the peer may exit once it has its data, and
  // could not be acknowledged later.
  virtual bool grant_acknowledge(const wire::Flow& flow, Qpn destination) = 0;

  // Returns the unused part of the last grant. A QP asks for a whole turn but mostly sends only an
  // ACK: without this, three of them would fill a ring with unused grants.
  virtual void give_back(std::uint32_t unused) = 0;

  // Whether the path may lose a frame that it granted. On a lossless path a silent peer is merely
  // slow, and no tail probe is sent.
  [[nodiscard]] virtual bool may_lose(const wire::Flow& /*flow*/, Qpn /*destination*/) const {
    return true;
  }
};

}  // namespace nerve::nic
