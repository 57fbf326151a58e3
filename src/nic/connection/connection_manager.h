// The communication manager: how two ends agree on a connection, and how it ends (IBTA vol. 1,
// chapter 12).
//
// It speaks MADs on QP1 with the peer's manager and events with its user. Like the rest of the
// engine it has no clock and no I/O: frames for QP1 come in by Nic::receive and leave by
// Nic::transmit, its timers are among Nic::next_deadline. docs/connection.md has the table of
// states and messages.
//
// A call tells no time. What it says waits for its turn in transmit(), and the timer of what was
// said begins then.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/intrusive_list.h"
#include "base/timer_heap.h"
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
  ConnectionManager(const NicConfig& config, Counters& counters, const Port& port);

  Expected<CommHandle> listen(const CmListen& listen);
  Expected<CommHandle> connect(const CmConnect& connect);                  // REQ
  Status accept(CommHandle id, const CmOffer& offer, Bytes private_data);  // REP
  Status confirm(CommHandle id, Bytes private_data);                       // RTU
  Status reject(CommHandle id, wire::RejectReason reason, Bytes private_data);
  Status delay(CommHandle id, std::uint8_t service_timeout);  // MRA
  Status disconnect(CommHandle id, Bytes private_data);       // DREQ, or DREP if the peer asked
  Status established(CommHandle id);                          // data came on the QP before the RTU
  Expected<CommHandle> resolve(const CmResolve& resolve);     // SIDR_REQ
  Status resolved(CommHandle id, const CmResolved& answer);   // SIDR_REP
  Status set_cookie(CommHandle id, std::uint64_t cookie);
  // The user knows of a request: it counts no longer against its listener's backlog.
  Status seen(CommHandle id);
  // In any state: whoever waits for us is told. Timewait goes on without the handle. A listener
  // takes the requests along whose events nobody has seen.
  Status destroy(CommHandle id);

  // Whoever gave out ids of the same block as this one, at one of these addresses, is no more and
  // will not say so. What it had with us is over as if its host had said it: a connection is
  // disconnected, what was not one yet is rejected.
  void lose_peer(wire::CommId one_of, std::span<const wire::Gid> hosts, Time now);
  // The user goes: destroy() for all that he has. What that says leaves once, if it leaves at all.
  void disconnect_all();

  std::optional<CmEvent> next_event();

  // How many there are, those included that only their peers still know.
  [[nodiscard]] std::uint32_t size() const { return table_.size(); }
  // Whether somebody who is at none of these addresses may not know yet that a connection is over:
  // our DREQ has no answer.
  [[nodiscard]] bool parting_from_others_than(std::span<const wire::Gid> here);

  // For the engine.
  void receive(const wire::Frame& frame, Time now);
  void transmit(TxBurst& burst, Time now);
  [[nodiscard]] bool wants_to_send() const { return !due_.empty() || !outbox_.empty(); }
  [[nodiscard]] std::optional<Time> next_deadline() { return timers_.next_deadline(); }
  void expire(Time now);

 private:
  // How a message came.
  struct Arrival {
    const wire::Flow& flow;
    std::uint64_t transaction{};
    std::uint64_t digest{};
    Time now{};
  };

  // Messages, each in the file of its purpose.
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
  void on_stale(Communication& old);
  Communication* take_request(Communication& listener, const Arrival& arrival);
  [[nodiscard]] std::optional<wire::CmRej> fault_of(const wire::CmReq& req,
                                                    const Arrival& arrival) const;

  // replies.cc
  void on_late_reply(Communication& comm, const wire::CmRep& rep, const Arrival& arrival);

  // Whether a message for `comm` came from its peer, and is of this communication.
  bool from_peer(const Communication& comm, const Arrival& arrival);
  bool from_peer(const Communication& comm, wire::CommId theirs, const Arrival& arrival);

  // send.cc: saying things, and going on to the next state.
  Communication* make();  // null when there is no room
  Expected<Communication*> start(const CmRoute& route, std::uint64_t cookie);
  void say(Communication& comm, CommState state, std::uint64_t transaction,
           const wire::CmMessage& message);
  void say_again(Communication& comm);
  // Nobody listens where we asked. True: it is asked again, for somebody may be about to.
  [[nodiscard]] bool ask_again(Communication& comm, Time now);
  void hush(Communication& comm);
  static std::uint64_t own_transaction(const Communication& comm, wire::CmAttribute attribute) {
    return static_cast<std::uint64_t>(attribute) << 32U | comm.local_id.value();
  }
  void answer(const Arrival& arrival, const wire::CmMessage& message);
  void answer_reject(const Arrival& arrival, const wire::CmRej& rej);
  void tell(CmEventKind kind, Communication& comm, const Arrival* arrival = nullptr,
            const wire::CmMessage& message = {});
  void no_longer_pending(Communication& comm);
  void after_turn(Communication& comm, Time now);
  void establish(Communication& comm, const Arrival* arrival, const wire::CmMessage& message);

  // peer_death.cc
  void lose(Communication& comm, Time now);
  // Being made, and over as if the peer had said so.
  void reject_for_peer(Communication& comm, wire::RejectReason reason);

  // ends.cc
  void begin_disconnect(Communication& comm, Bytes private_data);
  void answer_disconnect(Communication& comm, std::uint64_t transaction, Bytes private_data);
  void enter_timewait(Communication& comm, Time now);
  void last_word(Communication& comm, const wire::CmMessage& message);
  [[nodiscard]] wire::CmRej rejection(const Communication& comm, wire::RejectReason reason) const;
  void end(Communication& comm);  // idle, or gone if nobody has its handle
  void erase(Communication& comm);
  void destroy_listener(Communication& listener);
  void give_up(Communication& comm, Time now);

  const NicConfig& config_;
  Counters& counters_;
  const Port& port_;
  CommTable table_;
  MadOutbox outbox_;
  IntrusiveList<Communication, &Communication::due_hook> due_;
  TimerHeap<Communication, &Communication::timer> timers_;
  std::deque<CmEvent> events_;
};

}  // namespace nerve::nic
