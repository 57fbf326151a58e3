// How a shard connects to other processes of the host, and accepts their connections. The result is
// a ring, or the knowledge that the process is gone.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "host/peers/rings.h"
#include "host/runtime/watcher.h"
#include "wire/cm_codes.h"
#include "wire/gid.h"

namespace nerve::host {

class Shard;

class Meetings {
 public:
  explicit Meetings(Shard& shard);

  // Called without the shard's lock, because these may wait for another process. They open a path
  // to a peer's QP, to the listener of a service, or to the process that allocated a communication
  // id.
  void reach(const wire::Gid& peer, Qpn qpn);
  void reach_service(const wire::Gid& peer, wire::ServiceId service);
  void reach_comm(const wire::Gid& peer, wire::CommId id);

  // Without the lock: accepts a connection at the slot's name.
  TakenCall take_call(int listener);

  // With the lock: offers a ring to one of the processes to which frames could not be sent.
  void offer_wanted();
  // With the lock: the other end closed the connection, or answered an offer.
  void connection_closed(int connection);

  // Called in the child of a fork().
  void leave();

 private:
  void reach_slot(const wire::Gid& peer, std::uint32_t to, bool by_ring);
  void open_ring(std::uint32_t to);
  void answer_call(Descriptor connection, pid_t pid);
  bool refuse_call(int listener);  // true if the connection was closed
  // `owner` is the previous owner of the slot, if known. If that process is gone, calls
  // handle_dead_slot().
  void offer_ring(std::uint32_t to, std::optional<pid_t> owner = std::nullopt);
  // Returns true if a ring was offered over this connection: its answer has arrived.
  bool conclude_offer(int connection);
  // The slot's owner died: answer its pending requests, drop its connections.
  void handle_dead_slot(std::uint32_t empty);

  Shard& shard_;
  std::mutex opening_;             // one ring at a time; taken before the shard's lock
  std::vector<RingOffer> offers_;  // not answered yet
  Descriptor spare_;  // closed to accept and refuse a connection when no descriptor is left
  bool refusal_logged_{};
};

}  // namespace nerve::host
