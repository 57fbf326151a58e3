// How a shard meets other processes of the host: by calling them and by being called. A ring comes
// of it, or word that there is no such process any more.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "host/peers/rings.h"
#include "wire/cm_codes.h"
#include "wire/gid.h"

namespace nerve::host {

class Shard;

class Meetings {
 public:
  explicit Meetings(Shard& shard);

  // Without the shard's lock: these may wait for another process. They make sure that there is a
  // way to a peer's QP, to whoever listens at a service, or has given out a communication id.
  void reach(const wire::Gid& peer, Qpn qpn);
  void reach_service(const wire::Gid& peer, wire::ServiceId service);
  void reach_comm(const wire::Gid& peer, wire::CommId id);

  // Without the lock: somebody calls at the slot's name. False when the call still waits.
  bool take_call(int listener);

  // With the lock. Offers a ring to one of those processes to which frames had no way.
  void offer_wanted();
  // With the lock: the other end of a connection is closed, or has answered an offer.
  void hang_up(int connection);

  // This is the child of a fork.
  void leave();

 private:
  void reach_slot(const wire::Gid& peer, std::uint32_t to, bool by_ring);
  void open_ring(std::uint32_t to);
  void answer_call(Descriptor connection);
  bool refuse_call(int listener);  // true when the caller knows
  // `owner`: the process that had the slot, where that is known. If it has gone, nobody_in()
  // follows.
  void offer_ring(std::uint32_t to, std::optional<pid_t> owner = std::nullopt);
  // True when the connection is one over which a ring was offered: the answer is here.
  bool conclude_offer(int connection);
  // The slot's owner died: answer its pending requests, drop its connections.
  void nobody_in(std::uint32_t empty);

  Shard& shard_;
  std::mutex opening_;             // one ring at a time; taken before the lock
  std::vector<RingOffer> offers_;  // not answered yet
  Descriptor spare_;               // to let go of when none is left and a caller must be told so
  bool told_of_refusal_{};
};

}  // namespace nerve::host
