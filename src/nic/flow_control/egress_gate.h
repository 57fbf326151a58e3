// Room on the way out, asked for before frames are built.
//
// A link that can fill up (a ring to another process) must not make the engine drop what it has
// built, nor hold up the frames for everybody else. So each turn of a QP asks first; a QP that gets
// nothing is parked until Nic::resume(). It is to a link what priority flow control is to a cable.
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
    bool reliable{};  // acknowledgements hold back what follows; the link need not
    std::uint32_t frames{};
  };
  // How many of these frames, of any size, may be built now. A grant holds until the burst it was
  // given for has been sent, used or not.
  virtual std::uint32_t grant(const Request& request) = 0;

  // Room for an acknowledgement, one frame without payload, where there is no room for others: a
  // little is kept for these, because the peer may leave when it has what it wants, and not be
  // there to be acknowledged later.
  virtual bool grant_acknowledge(const wire::Flow& flow, Qpn destination) = 0;

  // So much of the last grant was not used, and is free for the next. A QP asks for a whole turn
  // and mostly owes an ACK: without this, three of them would fill a ring with nothing.
  virtual void give_back(std::uint32_t unused) = 0;

  // Whether the path may lose a frame that it granted. Where it does not, a peer that is silent is
  // only slow, and no tail probe is sent.
  [[nodiscard]] virtual bool may_lose(const wire::Flow& /*flow*/, Qpn /*destination*/) const {
    return true;
  }
};

}  // namespace nerve::nic
