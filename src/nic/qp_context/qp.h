// The context of a queue pair: all state of one end of a connection.
//
// Three modules own a part each, and the others read it: the QP manager owns the attributes and the
// state, the WQE engine the requester, the RX handler the responder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/fetch_lines.h"
#include "base/fixed_array.h"
#include "base/ids.h"
#include "base/intrusive_list.h"
#include "base/optional_time.h"
#include "base/time.h"
#include "base/timer_heap.h"
#include "base/token_bucket.h"
#include "nic/attributes.h"
#include "nic/config.h"
#include "nic/cq_manager/cq_manager.h"
#include "nic/flow_control/cnp_limiter.h"
#include "nic/flow_control/congestion_control.h"
#include "nic/flow_control/credits.h"
#include "nic/flow_control/flight.h"
#include "nic/flow_control/pacer.h"
#include "nic/flow_control/smoothed_round_trip.h"
#include "nic/flow_control/telemetry_echo.h"
#include "nic/handles.h"
#include "nic/qp_context/landing.h"
#include "nic/qp_context/receive_queue.h"
#include "nic/qp_context/selective_repeat.h"
#include "nic/qp_context/send_queue.h"
#include "nic/qp_context/srq.h"
#include "wire/frame.h"

namespace nerve::nic {

// Whether the MSNs of a peer count the messages of the connection, as the standard requires
// (9.7.7.1). Then an answer with another MSN is not the peer's.
enum class PeerMsn : std::uint8_t {
  kUnknown,  // it has not acknowledged a message yet
  kCounts,
  kDiffers,  // it does not count, or not from zero: its MSNs are not checked
};

// The requester's state.
//
//  unacked ≤ next ≤ sent_end, on the ring: [unacked, sent_end) is in flight, and while
//  next != sent_end the requester is retransmitting.
struct RequesterState {
  Psn unacked{};
  Psn next{};
  Psn sent_end{};
  Psn progress_noted{};            // the `unacked` at which counters and timers were last updated
  std::uint32_t next_sequence{1};  // SSN of the next message
  std::uint32_t reads_outstanding{};
  std::uint32_t read_packets{};  // PSNs of READs between unacked and next
  Flight flight;                 // READ responses count towards it
  std::uint32_t since_ack_request{};
  std::uint32_t polls_at_direct_path{~0U};  // the send CQ's poll count at the last direct request
  std::uint32_t placed{};  // bytes of the current request copied by the direct path
  std::uint8_t retries_left{};
  std::uint8_t rnr_retries_left{};
  bool rnr_heard{};    // the oldest packet was rejected for lack of a receive ...
  bool rnr_stands{};   // ... and again after the wait: it is sent alone until it is accepted
  bool recovering{};   // retransmitting after a lost response; further signs of that loss are
                       // ignored
  bool nak_heeded{};   // retransmitting after a sequence NAK; its duplicates are ignored
  bool probing{};      // one packet is in flight to probe for receives
  bool drain_noted{};  // SQD: the drained event has been raised
  bool probe_armed{};
  bool probe_due{};       // the next turn that sends nothing else sends a tail probe
  bool probed_on{};       // an answered probe was followed by another immediately
  std::uint8_t probes{};  // probes since a round trip was last measured
  OptionalTime retry_at{};
  OptionalTime rnr_until{};
  OptionalTime pace_at{};
  Time probe_at{};     // when to check whether a tail probe is due, if probe_armed
  Time quiet_since{};  // when a request was last sent or acknowledged
  SendCredits credits{};
  PeerMsn peer_msn{};
};

// An entry of the replay cache: a READ, atomic, ATOMIC_WRITE or FLUSH that the responder has
// accepted. It is kept after it was answered, so that a duplicate is answered again without being
// executed again.
struct ReplayEntry {
  enum class Kind : std::uint8_t { kRead, kAtomic, kAcknowledgedWrite };
  Kind kind{};
  bool pending{};        // packets of the answer are still to be sent
  bool answered_once{};  // the whole answer has been sent at least once
  Psn first_psn{};
  std::uint32_t packets{};
  std::uint32_t next_packet{};
  std::uint32_t length{};
  std::uint64_t address{};
  RKey rkey{};
  PdHandle pd{};
  std::uint64_t original{};  // the result of an atomic
};

struct ResponderState {
  enum class Message : std::uint8_t { kNone, kSend, kWrite };

  Psn expected{};
  // The PSN for an ACK: the last packet received that is not answered by data. An ACK with the PSN
  // of a READ would claim a response that may have been lost, which rxe treats as a fatal error.
  Psn ack_psn{};
  std::uint32_t msn{};  // 24 bits
  Message message{Message::kNone};
  bool gap_reported{};  // the expected PSN was NAKed; no further NAK until it arrives
  bool ack_due{};
  bool cnp_due{};
  bool ecn_seen{};           // since the last ACK; echoed as BECN
  bool zero_credits_sent{};  // the last AETH advertised zero credits
  bool established_raised{};
  bool skipping{};                        // UC: discards the rest of an interrupted message
  std::optional<std::uint8_t> nak_due{};  // a syndrome; sent after the pending responses before it
  bool sack_due{};                        // selective repeat: held packets were not reported yet
  [[nodiscard]] bool owes_acknowledge() const { return ack_due || nak_due.has_value() || sack_due; }
  [[nodiscard]] bool owes_only_an_ack() const {
    return ack_due && !nak_due && !sack_due && !cnp_due && replay_serve == replay_end;
  }
  std::uint32_t received{};  // bytes of the current message
  std::uint32_t write_length{};
  std::uint64_t write_address{};
  RKey write_rkey{};
  std::uint32_t unanswered{};    // entries of `replay` whose answer has not been sent completely
  std::uint32_t replay_end{};    // the next entry to fill
  std::uint32_t replay_serve{};  // the oldest entry that may be pending
  PdHandle pd{};  // the domain for the message's keys: the QP's, or that of the XRC SRQ

  // The receive taken for the current message: the one in receive_slot of this queue.
  ReceiveQueue* receive_from{};
  Srq* receive_srq{};
  std::uint32_t receive_slot{};
  std::uint32_t xrc_srq{};  // the SRQ that the current XRC message names
  // The replay cache: a ring of accepted requests whose size is a power of two. Sequence numbers
  // run freely.
  FixedArray<ReplayEntry> replay;
  std::unique_ptr<TelemetryEcho> telemetry;  // allocated when telemetry first arrives
  TokenBucket wrong_keys;                    // UC
};

// What a trace (nic/trace.h) no longer records of a QP, because it has recorded enough. Rare steps
// go on.
struct TraceOver {
  bool sends : 1 {};     // send requests and their packets
  bool messages : 1 {};  // received ones
  bool receives : 1 {};  // posted ones
};

// Members that every packet touches come first, those of control calls last. The QP is 16 bytes
// into a cache line (base/slot_table.h); comments say where the others begin.
struct Qp {
  Qpn qpn{};
  QpType type{};
  QpState state{QpState::kReset};
  bool signal_all{};
  bool selective{};         // selective repeat is in use
  bool offers_selective{};  // its packets announce support for it
  TraceOver trace_over{};
  PKey pkey{0xffff};  // the value at attributes.pkey_index
  std::uint32_t mtu{};
  PdHandle pd{};
  Qpn peer{};                                     // attributes.dest_qp
  Access access{};                                // attributes.access
  std::unique_ptr<Landing> landing;               // null: it has not used late memory
  std::unique_ptr<CongestionControl> congestion;  // null: line rate
  // The second line.
  wire::Flow flow{};  // RC, UC, XRC: to the peer
  ListHook<Qp> ready_hook;
  // The third, and a fourth for messages that need a receive or an answer.
  ResponderState responder;
  Cq* recv_cq{};
  // The fifth and the sixth.
  RequesterState requester;
  Cq* send_cq{};
  // The seventh.
  Timer timer;
  SendQueue sends;
  std::unique_ptr<SelectiveRepeat> repeat;  // RC, if `selective` is set or may become so
  // The last attributes are needed for each request, and share the tenth line with the pacer.
  // rate_limit is the lower one of program_rate and steered_rate.
  QpAttributes attributes{};
  std::uint64_t bytes_sent{};  // for QpFlow
  Pacer pacer;

  Srq* srq{};
  ReceiveQueue receives;
  ListHook<Qp> parked_hook;
  SmoothedRoundTrip round_trip;  // measured when tail probes are enabled
  CnpLimiter cnp_limiter;
  std::uint64_t cookie{};
  XrcdHandle xrcd{};
  QpHandle handle{};
  std::uint64_t packets_retransmitted{};  // for QpFlow
  Rate program_rate{};                    // the rate_limit that the program has set; zero: none
  Rate steered_rate{};                    // likewise steer_flow()

  [[nodiscard]] QpCaps caps() const {
    return {.max_send_wr = sends.depth(),
            .max_recv_wr = receives.max_wr(),
            .max_send_sge = sends.max_sge(),
            .max_recv_sge = receives.max_sge(),
            .max_inline = sends.max_inline()};
  }

  // Prefetch what a request packet that arrives needs, what its answer needs at the sender, and
  // what sending needs.
  void fetch_for_request() const { fetch_lines(this, &recv_cq); }
  void fetch_for_answer() const {
    fetch_lines(this, &responder);
    fetch_lines(&requester, &receives);
  }
  void fetch_to_send() const { fetch_lines(this, &receives); }
  // What sending and answers need besides, once that has come.
  void fetch_work() const {
    sends.fetch();
    if (congestion) congestion->fetch();
  }

  // Whether requests are to be sent, or packets of them that were trimmed.
  [[nodiscard]] bool has_to_send() const {
    return !sends.all_sent() || (ultra() != nullptr && !ultra()->trimmed.empty());
  }
  // Null unless the QP uses parts of Ultra Ethernet.
  [[nodiscard]] UltraEthernet* ultra() const { return selective ? repeat->ultra.get() : nullptr; }
  [[nodiscard]] bool reliable() const {
    return type == QpType::kRc || type == QpType::kXrcSend || type == QpType::kXrcRecv;
  }
  [[nodiscard]] bool connected() const { return reliable() || type == QpType::kUc; }
  [[nodiscard]] bool datagram() const { return type == QpType::kUd || type == QpType::kGsi; }
  // The QP may send requests and waits for answers.
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

// Identify messages that are read from late memory: a request, and the response to a READ. Zero
// before the QP has waited for late memory, which is the first thing that it does there.
[[nodiscard]] inline std::uint64_t request_message(const Qp& qp, std::uint32_t position) {
  return qp.landing == nullptr ? 0 : std::uint64_t{qp.landing->life} << 32U | position;
}
[[nodiscard]] inline std::uint64_t response_message(const Qp& qp, Psn first) {
  if (qp.landing == nullptr) return 0;
  return std::uint64_t{1} << 63U | std::uint64_t{qp.landing->life} << 24U | first.value();
}

}  // namespace nerve::nic
