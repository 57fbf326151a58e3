// The communication manager: sets up and tears down connections (IBTA vol. 1, chapter 12).
//
// It exchanges MADs on QP1 with the peer's manager and reports events to its user. Like the rest of
// the engine it has no clock and no I/O: frames for QP1 arrive through Nic::receive and leave
// through Nic::transmit, and its timers are part of Nic::next_deadline. docs/connection.md has the
// table of states and messages.
//
// Calls take no time argument. A message waits for transmit(), and its timer starts then.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/intrusive_list.h"
#include "base/timer_heap.h"
#include "base/token_bucket.h"
#include "nic/burst.h"
#include "nic/connection/cm_types.h"
#include "nic/connection/comm_table.h"
#include "nic/connection/mad_outbox.h"
#include "nic/counters.h"
#include "nic/error.h"
#include "nic/ethernet/port.h"

namespace nerve::nic {

class ConnectionManager {
 public:
  ConnectionManager(const NicConfig& config, Counters& counters, const Port& port, Trace* trace);

  Expected<CommHandle> listen(const CmListen& listen);
  Expected<CommHandle> connect(const CmConnect& connect);                  // REQ
  Status accept(CommHandle id, const CmOffer& offer, Bytes private_data);  // REP
  Status confirm(CommHandle id, Bytes private_data);                       // RTU
  Status reject(CommHandle id, wire::RejectReason reason, Bytes private_data);
  Status delay(CommHandle id, std::uint8_t service_timeout);  // MRA
  Status disconnect(CommHandle id, Bytes private_data);       // DREQ, or DREP if the peer asked
  Status established(CommHandle id);                          // data arrived on the QP before the
                                                              // RTU
  Expected<CommHandle> resolve(const CmResolve& resolve);     // SIDR_REQ
  Status resolved(CommHandle id, const CmResolved& answer);   // SIDR_REP
  Status set_cookie(CommHandle id, std::uint64_t cookie);
  // The user has seen a request: it no longer counts against its listener's backlog.
  Status seen(CommHandle id);
  // Allowed in any state: a waiting peer is notified. TIMEWAIT continues without the handle.
  // Destroying a listener also destroys the requests whose events were not delivered yet.
  Status destroy(CommHandle id);

  // The process that allocated IDs of the same block as `one_of`, at one of these addresses, has
  // died without notice. Its connections to us are disconnected, and its pending ones rejected, as
  // if its host had sent the messages.
  void lose_peer(wire::CommId one_of, std::span<const wire::Gid> hosts, Time now);
  // The user exits: destroys everything it owns. The resulting messages are sent at most once.
  void disconnect_all();

  std::optional<CmEvent> next_event();

  // The number of communications, including those kept only for their peers.
  [[nodiscard]] std::uint32_t size() const { return table_.size(); }
  // Whether a DREQ to a peer outside these addresses is unanswered, so that the peer may not know
  // yet that the connection is closed.
  [[nodiscard]] bool parting_from_others_than(std::span<const wire::Gid> here);

  // For the engine.
  void receive(const wire::Frame& frame, Time now);
  void transmit(TxBurst& burst, Time now);
  [[nodiscard]] bool wants_to_send() const { return !due_.empty() || !outbox_.empty(); }
  [[nodiscard]] std::optional<Time> next_deadline() { return timers_.next_deadline(); }
  void expire(Time now);

 private:
  // The context of a received message.
  struct Arrival {
    const wire::Flow& flow;
    std::uint64_t transaction{};
    std::uint64_t digest{};
    Time now{};
  };

  // Message handlers; each group lives in the file of its purpose.
  void on(const wire::CmReq& req, const Arrival& arrival);
  void on(const wire::CmMra& mra, const Arrival& arrival);
  void on(const wire::CmRej& rej, const Arrival& arrival);
  void on(const wire::CmRep& rep, const Arrival& arrival);
  void on(const wire::CmRtu& rtu, const Arrival& arrival);
  void on(const wire::CmDreq& dreq, const Arrival& arrival);
  void on(const wire::CmDrep& drep, const Arrival& arrival);
  void on(const wire::CmSidrReq& req, const Arrival& arrival);
  void on(const wire::CmSidrRep& rep, const Arrival& arrival);

  // requests.cc
  void on_known_request(Communication& comm, const wire::CmReq& req, const Arrival& arrival);
  void on_stale(Communication& old, Time now);
  void make_room(Time now);
  // A message that matches no communication and no listener. Returns false if there have been so
  // many that it is dropped.
  bool admit_unmatched(Time now);
  Communication* take_request(Communication& listener, const Arrival& arrival);
  [[nodiscard]] std::optional<wire::CmRej> fault_of(const wire::CmReq& req,
                                                    const Arrival& arrival) const;

  // replies.cc
  Communication* find_unanswered(const wire::CmRej& rej, const Arrival& arrival);
  void on_late_reply(Communication& comm, const wire::CmRep& rep, const Arrival& arrival);

  // Whether a message for `comm` came from its peer and belongs to this communication.
  bool from_peer(const Communication& comm, const Arrival& arrival);
  bool from_peer(const Communication& comm, wire::CommId theirs, const Arrival& arrival);

  // send.cc: sends messages and advances the state.
  Communication* make();  // null when there is no room
  Expected<Communication*> start(const CmRoute& route, std::uint64_t cookie);
  void send(Communication& comm, CommState state, std::uint64_t transaction,
            const wire::CmMessage& message);
  void resend(Communication& comm);
  // The peer has no listener for our request. Returns true if the request is retried, because the
  // listener may be about to start.
  [[nodiscard]] bool retry_refused(Communication& comm, Time now);
  void cancel_send(Communication& comm);
  static std::uint64_t own_transaction(const Communication& comm, wire::CmAttribute attribute) {
    return static_cast<std::uint64_t>(attribute) << 32U | comm.local_id.value();
  }
  void answer(const Arrival& arrival, const wire::CmMessage& message);
  void answer_reject(const Arrival& arrival, const wire::CmRej& rej);
  void raise(CmEventKind kind, Communication& comm, const Arrival* arrival = nullptr,
             const wire::CmMessage& message = {});
  void no_longer_pending(Communication& comm);
  void after_turn(Communication& comm, Time now);
  void repeat(Communication& comm);
  void establish(Communication& comm, const Arrival* arrival, const wire::CmMessage& message);

  // peer_death.cc
  void lose(Communication& comm, Time now);
  // Ends a communication that is being set up as if the peer had rejected it.
  void reject_for_peer(Communication& comm, wire::RejectReason reason);

  // ends.cc
  void begin_disconnect(Communication& comm, Bytes private_data);
  void challenge(Communication& comm, Time now);
  void answer_disconnect(Communication& comm, std::uint64_t transaction, Bytes private_data);
  void enter_timewait(Communication& comm, Time now);
  void send_final_reply(Communication& comm, const wire::CmMessage& message);
  [[nodiscard]] wire::CmRej rejection(const Communication& comm, wire::RejectReason reason) const;
  void end(Communication& comm);  // idle, or erased if the user does not own the handle
  void erase(Communication& comm);
  void destroy_listener(Communication& listener);
  void give_up(Communication& comm, Time now);

  TimerHeap<Communication, &Communication::timer> timers_;
  IntrusiveList<Communication, &Communication::due_hook> due_;
  MadOutbox outbox_;

  const NicConfig& config_;
  Counters& counters_;
  const Port& port_;
  Trace* trace_;
  CommTable table_;
  // Connections that wait for an RTU, oldest first.
  IntrusiveList<Communication, &Communication::half_open_hook> half_open_;
  TokenBucket unmatched_;
  std::deque<CmEvent> events_;
};

}  // namespace nerve::nic
