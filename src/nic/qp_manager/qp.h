// A queue pair's context: everything the NIC knows of one connection end.
//
// Three modules own a part each and the others read it: the QP Manager the attributes and the
// state, the WQE engine the requester, the RX handler the responder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/fixed_array.h"
#include "base/ids.h"
#include "base/intrusive_list.h"
#include "base/time.h"
#include "base/timer_heap.h"
#include "nic/attributes.h"
#include "nic/cq_manager/cq_manager.h"
#include "nic/flow_control/cnp_limiter.h"
#include "nic/flow_control/congestion_control.h"
#include "nic/flow_control/credits.h"
#include "nic/flow_control/flight.h"
#include "nic/flow_control/pacer.h"
#include "nic/flow_control/smoothed_round_trip.h"
#include "nic/flow_control/telemetry_echo.h"
#include "nic/handles.h"
#include "nic/qp_manager/receive_queue.h"
#include "nic/qp_manager/selective_repeat.h"
#include "nic/qp_manager/send_queue.h"
#include "nic/qp_manager/srq.h"
#include "wire/frame.h"

namespace nerve::nic {

// The sending half.
//
//   unacked ≤ next ≤ sent_end, on the ring: [unacked, sent_end) is in flight, and while
//   next != sent_end the requester is sending it again.
struct RequesterState {
  Psn unacked{};
  Psn next{};
  Psn sent_end{};
  Psn progress_noted{};  // the `unacked` for which counters and timers were last refreshed
  std::uint32_t next_sequence{1};  // SSN of the next message
  std::uint32_t reads_outstanding{};
  std::uint32_t read_packets{};  // PSNs between unacked and next that are READs'
  Flight flight;                 // what READs ask for counts in it
  std::uint32_t since_ack_request{};
  std::uint32_t polls_at_direct_path{~0U};  // of the send CQ, when one was last tried
  std::uint32_t placed{};  // bytes of the current request that went by the direct path
  std::uint8_t retries_left{};
  std::uint8_t rnr_retries_left{};
  bool rnr_heard{};    // the oldest packet was refused for lack of a receive ...
  bool rnr_stands{};   // ... and again after the wait: it goes alone until it is taken
  bool recovering{};   // went back for a lost answer; more signs of the same loss say nothing new
  bool nak_heeded{};   // went back for a sequence NAK; its duplicates say nothing new
  bool probing{};      // one packet is out to ask whether the peer has receives
  bool drain_noted{};  // SQD: the drained event has been raised
  bool probe_armed{};
  bool probe_due{};       // the next turn that sends nothing else sends a tail probe
  bool probed_on{};       // one was sent at once because the one before was answered
  std::uint8_t probes{};  // since a round trip was last measured
  std::optional<Time> retry_at{};
  std::optional<Time> rnr_until{};
  std::optional<Time> pace_at{};
  Time probe_at{};               // when to look whether a tail probe is due, if probe_armed
  Time quiet_since{};            // the last request left, or the last one was acknowledged
  SmoothedRoundTrip round_trip;  // measured where there are tail probes
  SendCredits credits{};
};

// A READ, atomic, ATOMIC_WRITE or FLUSH that the responder has accepted. Kept after it is
// answered, so that a duplicate of it can be answered again without being executed again.
struct ReplayEntry {
  enum class Kind : std::uint8_t { kRead, kAtomic, kAcknowledgedWrite };
  Kind kind{};
  bool pending{};        // frames of the answer are still to be sent
  bool answered_once{};  // the whole answer has been sent at least once
  Psn first_psn{};
  std::uint32_t packets{};
  std::uint32_t next_packet{};
  std::uint32_t length{};
  std::uint64_t address{};
  RKey rkey{};
  PdHandle pd{};
  std::uint64_t original{};  // an atomic's result
};

struct ResponderState {
  enum class Message : std::uint8_t { kNone, kSend, kWrite };

  Psn expected{};
  // What an ACK names: the last packet that came and is not answered by data. One that named a READ
  // would claim an answer that may have been lost, which rxe takes for a fatal error.
  Psn ack_psn{};
  std::uint32_t msn{};  // 24 bits
  Message message{Message::kNone};
  bool gap_told{};  // a NAK for the expected PSN is out; silence until it arrives
  bool ack_due{};
  bool cnp_due{};
  bool ecn_seen{};         // since the last ACK: echoed as BECN
  bool no_credits_told{};  // the last AETH announced zero credits
  bool established_told{};
  bool skipping{};                        // UC: the rest of a cut message
  std::optional<std::uint8_t> nak_due{};  // a syndrome; goes out after the answers before it
  bool sack_due{};                        // selective repeat: packets are held that nobody told of
  [[nodiscard]] bool owes_acknowledge() const { return ack_due || nak_due.has_value() || sack_due; }
  [[nodiscard]] bool owes_only_an_ack() const {
    return ack_due && !nak_due && !sack_due && !cnp_due && replay_serve == replay_end;
  }
  std::unique_ptr<TelemetryEcho> telemetry;  // made when the first comes
  std::uint32_t received{};                  // bytes of the message in progress
  std::uint32_t write_length{};
  std::uint64_t write_address{};
  RKey write_rkey{};
  std::uint32_t xrc_srq{};  // the SRQ that the XRC message in progress names
  PdHandle pd{};  // whose keys the message may use: the QP's, or that of the XRC SRQ it names
  // The receive taken for the message in progress.
  ReceiveQueue* receive_from{};
  Srq* receive_srq{};
  std::uint32_t receive_slot{};
  // A ring of accepted requests, a power of two; sequence numbers run freely.
  FixedArray<ReplayEntry> replay;
  std::uint32_t unanswered{};    // entries that the peer still waits for
  std::uint32_t replay_end{};    // the next entry to fill
  std::uint32_t replay_serve{};  // the oldest that may still be pending
};

// What every packet touches comes first, what only control calls touch last.
struct Qp {
  Qpn qpn{};
  QpType type{};
  QpState state{QpState::kReset};
  bool signal_all{};
  bool selective{};         // selective repeat is in use
  bool offers_selective{};  // its packets announce that it could be
  PKey pkey{0xffff};        // what attributes.pkey_index names
  std::uint32_t mtu{};
  PdHandle pd{};
  wire::Flow flow{};  // RC, UC, XRC: to the peer

  ResponderState responder;
  RequesterState requester;
  SendQueue sends;
  ListHook<Qp> ready_hook;
  ListHook<Qp> parked_hook;
  Timer timer;
  std::unique_ptr<CongestionControl> congestion;  // null: line rate
  Pacer pacer;
  CnpLimiter cnp_limiter;
  ReceiveQueue receives;
  Cq* send_cq{};
  Cq* recv_cq{};
  Srq* srq{};

  QpAttributes attributes{};
  std::unique_ptr<SelectiveRepeat> repeat;  // RC, where `selective` is set or may come to be
  QpCaps caps{};
  XrcdHandle xrcd{};
  QpHandle handle{};
  std::uint64_t cookie{};

  [[nodiscard]] bool reliable() const {
    return type == QpType::kRc || type == QpType::kXrcSend || type == QpType::kXrcRecv;
  }
  [[nodiscard]] bool connected() const { return reliable() || type == QpType::kUc; }
  [[nodiscard]] bool datagram() const { return type == QpType::kUd || type == QpType::kGsi; }
  // Requests are sent and answers to them are awaited.
  [[nodiscard]] bool can_send() const { return state == QpState::kRts || state == QpState::kSqd; }
  [[nodiscard]] bool can_receive() const {
    return state == QpState::kRtr || state == QpState::kRts || state == QpState::kSqd ||
           state == QpState::kSqe;
  }
  [[nodiscard]] wire::Transport transport() const {
    switch (type) {
      case QpType::kRc:
        return wire::Transport::kRc;
      case QpType::kUc:
        return wire::Transport::kUc;
      case QpType::kXrcSend:
      case QpType::kXrcRecv:
        return wire::Transport::kXrc;
      case QpType::kUd:
      case QpType::kGsi:
        return wire::Transport::kUd;
    }
    return wire::Transport::kRc;
  }
};

}  // namespace nerve::nic
