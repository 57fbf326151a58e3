// The sending half of Ultra Ethernet: the path of each packet, the retransmission of trimmed
// packets, receiver credits, and what the answers teach.
//
// A trimmed packet is known to be lost, whatever is behind it. So it is retransmitted by itself,
// without moving the cursor: the rest of selective repeat (selective_repeat.cc) does not notice.
// Only when an answer is lost as well does its timer act.
#include "wire/ultra_ethernet.h"
#include "base/planted.h"
#include "nic/wqe_engine/completer.h"
#include "nic/wqe_engine/requester.h"

namespace nerve::nic {

void Requester::choose_path(Qp& qp, UltraEthernet& ultra, wire::Frame& frame, Sending sending) {
  const Psn psn = frame.headers.bth.psn;
  if (ultra.entropies.used()) {
    if (sending == Sending::kLost) {
      if (const auto port = ultra.sent.port_of(psn)) {
        ultra.entropies.learn(qp.flow.source_port, *port, Entropies::Fate::kLost);
      }
    }
    frame.flow.source_port = ultra.entropies.next_port(qp.flow.source_port);
    frame.continues_train = false;
  }
  ultra.sent.add(psn, frame.flow.source_port, core_.now);
  if (sending != Sending::kFirst) ultra.sent.forget(psn);
  if (!core_.config.ultra_ethernet.receiver_credits) return;
  const bool idle = qp.requester.unacked == qp.requester.sent_end;
  if (idle && !ultra.demands) {
    ultra.may_send = std::max(ultra.may_send, core_.config.ultra_ethernet.unsolicited_packets);
  }
  if (ultra.may_send > 0) --ultra.may_send;
  const std::uint64_t behind = packets_behind(qp, psn);
  ultra.demands = behind > 0;
  ultra.ask_at.reset();
  wire::set_demand(frame.headers.bth, wire::demand_code(behind));
}

// The packets of SENDs and WRITEs behind this one, up to the first request that is answered by
// data.
std::uint64_t Requester::packets_behind(Qp& qp, Psn psn) {
  std::uint64_t packets = 0;
  for (std::uint32_t position = qp.sends.cursor; position != qp.sends.tail; ++position) {
    const SendWqe& wqe = qp.sends.at(position);
    if (wqe.wants_response()) break;
    packets += wqe.packets;
    if (!wqe.started) continue;
    const std::uint32_t before = psn_span(wqe.first_psn, psn) + 1;
    if (before <= wqe.packets) packets -= before;
  }
  return packets;
}

std::uint32_t Requester::in_network(const Qp& qp, const UltraEthernet& ultra) {
  const RequesterState& state = qp.requester;
  const std::uint32_t answered = qp.repeat->sent.count() + ultra.trimmed.size();
  const std::uint32_t sent = psn_span(state.unacked, state.sent_end);
  return sent - std::min(answered, sent);
}

bool Requester::ultra_window_open(const Qp& qp, const UltraEthernet& ultra) const {
  const RequesterState& state = qp.requester;
  if (core_.config.ultra_ethernet.receiver_credits && ultra.may_send == 0) {
    if (state.unacked != state.sent_end) return false;
    if (ultra.demands && !(ultra.ask_at && *ultra.ask_at <= core_.now)) return false;
  }
  const std::uint64_t packets = in_network(qp, ultra);
  return packets == 0 || !qp.congestion || (packets + 1) * qp.mtu <= qp.congestion->window_bytes();
}

// Everything was answered, and the receiver knows of the demand: its credit is on its way. But it
// may have been lost, and nothing is in flight that would be missed. So after the time that an
// answer may take, one packet is sent without credit.
void Requester::await_credit(Qp& qp, UltraEthernet& ultra) {
  RequesterState& state = qp.requester;
  const bool waits = core_.config.ultra_ethernet.receiver_credits && ultra.may_send == 0 &&
                     ultra.demands && state.unacked == state.sent_end;
  if (!waits) return;
  if (!ultra.ask_at) {
    const auto timeout = retry_timeout(qp);
    if (!timeout) return;
    ultra.ask_at = core_.now + *timeout;
  }
  // Later something else stops it: a timer in the past would run for ever.
  if (*ultra.ask_at > core_.now) state.pace_at = *ultra.ask_at;
}

// The position of the request in flight that a packet belongs to; the tail if there is none.
std::uint32_t Requester::position_of(Qp& qp, Psn psn) {
  std::uint32_t position = qp.sends.head;
  for (; position != qp.sends.tail; ++position) {
    const SendWqe& wqe = qp.sends.at(position);
    if (wqe.started && !wqe.is_local() && psn_span(wqe.first_psn, psn) < wqe.packets) break;
  }
  return position;
}

bool Requester::resend_trimmed(Qp& qp, UltraEthernet& ultra, TxBurst& burst, std::uint32_t budget) {
  RequesterState& state = qp.requester;
  const std::uint32_t first = burst.size();
  while (!ultra.trimmed.empty()) {
    const Psn psn = ultra.trimmed.front().psn;
    const bool due = in_flight(state, psn) && !qp.repeat->sent.arrived(state.unacked, psn);
    const std::uint32_t position = due ? position_of(qp, psn) : qp.sends.tail;
    if (position == qp.sends.tail) {
      ultra.trimmed.pop();
      continue;
    }
    if (burst.full() || burst.size() - first >= budget) return true;
    if (state.rnr_until || !ultra_window_open(qp, ultra)) return false;
    if (paced(qp) && !qp.pacer.may_send(core_.now)) {
      state.pace_at = qp.pacer.next_send();
      return false;
    }
    wire::Frame& frame = burst.add();
    const Psn from = planted(Bug::kTrimmedMislabelled) ? psn + 1 : psn;
    const bool last =
        psn_span(qp.sends.at(position).first_psn, from) >= qp.sends.at(position).packets;
    const auto built = build(qp, position, last ? psn : from, burst);
    if (built != WcStatus::kSuccess) {
      burst.drop_last();
      // Memory that is not accessible any more: the timer retransmits, and reports the fault.
      if (built) ultra.trimmed.pop();
      return false;
    }
    frame.headers.bth.psn = psn;
    frame.headers.bth.ack_request = true;
    ultra.trimmed.pop();
    choose_path(qp, ultra, frame, Sending::kTrimmed);
    if (core_.trace != nullptr) [[unlikely]] {
      trace_retransmit(*core_.trace, qp, psn, TraceCause::kNak);
      trace_made(*core_.trace, qp, position, frame);
    }
    note_sent(qp, frame, /*again=*/true);
    state.since_ack_request = 0;
  }
  return false;
}

bool Completer::on_ultra_ethernet(Qp& qp, UltraEthernet& ultra, const wire::Frame& frame) {
  using Fate = Entropies::Fate;
  const wire::Aeth& aeth = frame.headers.aeth;
  if (wire::is_receiver_credit(aeth)) {
    ultra.grant(aeth.msn);
    return true;
  }
  const bool trimmed = wire::is_trimmed_nak(aeth);
  const Fate fate = frame.headers.bth.becn ? Fate::kMarked : Fate::kGood;
  ultra.entropies.learn(qp.flow.source_port, frame.flow.source_port,
                        trimmed ? Fate::kTrimmed : fate);
  if (!trimmed) return false;
  ++core_.counters.selective_naks_received;
  RequesterState& state = qp.requester;
  const Psn expected = frame.headers.bth.psn;
  if (in_flight(state, expected)) {
    if (!acknowledge(qp, expected)) {
      implied_nak(qp, frame);
      return true;
    }
    if (!qp.can_send()) return true;
    note_progress(qp, frame);
  }
  const Psn psn{aeth.msn};
  Scoreboard& board = qp.repeat->sent;
  if (!in_flight(state, psn) || board.arrived(state.unacked, psn)) return true;
  if (!ultra.trimmed.add({psn, frame.flow.source_port})) return true;
  if (qp.congestion) qp.congestion->on_trim(qp.mtu, core_.now);
  // The peer answers: what is trimmed again and again does not count as a retry.
  if (const auto timeout = wire::ack_timeout(qp.attributes.timeout)) {
    board.give_up_at = core_.now + *timeout;
  }
  restart_timer(qp);
  return true;
}

void Completer::inform(Qp& qp, UltraEthernet& ultra, const Scoreboard::Fresh& fresh,
                       const wire::Frame& frame) {
  AckSample sample{.now = core_.now,
                   .acked_bytes = std::uint64_t{fresh.packets} * qp.mtu,
                   .outstanding_bytes = std::uint64_t{Requester::in_network(qp, ultra)} * qp.mtu,
                   .ecn_echo = frame.headers.bth.becn,
                   .telemetry = frame.telemetry};
  if (fresh.newest) sample.round_trip = ultra.sent.round_trip(*fresh.newest, core_.now);
  inform(qp, sample);
}

}  // namespace nerve::nic
