#include "nic/qp_context/qp_trace.h"

#include <utility>

#include "wire/syndrome.h"

namespace nerve::nic {
namespace {

// Counts the send requests that were posted since the last call.
std::uint64_t count_posts(Trace& trace, const Qp& qp) {
  QpTrace& counts = trace.of(qp.qpn.value());
  counts.posted += std::uint32_t{qp.sends.tail - std::exchange(counts.tail, qp.sends.tail)};
  return counts.posted;
}

// Unlike the position, it does not restart when the QP is reset, and does not wrap.
std::uint64_t number_of(Trace& trace, const Qp& qp, std::uint32_t position) {
  return count_posts(trace, qp) - std::uint32_t{qp.sends.tail - position};
}

bool is_nak(const wire::Frame& frame) {
  return wire::operation_of(frame.headers.bth.opcode) == wire::Operation::kAcknowledge &&
         wire::kind_of(frame.headers.aeth.syndrome) != wire::AckKind::kAck;
}

bool is_receive(const Completion& completion) {
  return completion.opcode == WcOpcode::kRecv || completion.opcode == WcOpcode::kRecvWriteImm;
}

void fill(TraceRecord& record, const Qp& qp, std::uint64_t number) {
  record.qpn = qp.qpn.value();
  record.message = static_cast<std::uint32_t>(number);
}

void fill(TraceRecord& record, const wire::Frame& frame) {
  record.id = short_address(frame.flow.destination);
  record.peer = frame.headers.bth.dest_qp.value();
  record.psn = frame.headers.bth.psn.value();
  record.bytes = frame.payload_length;
  record.opcode = frame.headers.bth.opcode;
}

// A response belongs to the oldest request, or to one behind it; its PSN shows to which.
bool expects_response(Trace& trace, const Qp& qp) {
  return number_of(trace, qp, qp.sends.head) < trace.messages();
}

}  // namespace

std::uint64_t short_address(const wire::Gid& gid) {
  std::uint64_t address = 0;
  for (std::size_t i = 8; i < gid.bytes.size(); ++i) {
    address = address << 8U | std::to_integer<std::uint64_t>(gid.bytes[i]);
  }
  return address;
}

void trace_rare_request(Trace& trace, Qp& qp, std::uint32_t position, TraceRecord record) {
  fill(record, qp, number_of(trace, qp, position));
  trace.add(record);
}

void trace_request(Trace& trace, Qp& qp, std::uint32_t position, TraceRecord record) {
  if (number_of(trace, qp, position) < trace.messages()) {
    trace_rare_request(trace, qp, position, record);
  } else if (!expects_response(trace, qp)) {
    qp.trace_over.sends = true;  // the last one that was recorded has completed
  }
}

void trace_fetch(Trace& trace, Qp& qp, std::uint32_t position) {
  const SendWqe& wqe = qp.sends.at(position);
  trace_request(trace, qp, position,
                {.id = wqe.wr_id,
                 .peer = wqe.packets,
                 .psn = wqe.first_psn.value(),
                 .bytes = wqe.length,
                 .step = TraceStep::kFetch,
                 .opcode = static_cast<std::uint8_t>(wqe.op)});
}

void trace_direct(Trace& trace, Qp& qp, std::uint32_t bytes) {
  const SendWqe& wqe = qp.sends.current();
  trace_request(trace, qp, qp.sends.cursor,
                {.id = wqe.wr_id,
                 .peer = qp.peer.value(),
                 .bytes = bytes,
                 .step = TraceStep::kDirect,
                 .opcode = static_cast<std::uint8_t>(wqe.op)});
}

void trace_data_placed(Trace& trace, Qp& qp, const wire::Frame& frame, std::uint32_t bytes) {
  trace_request(trace, qp, qp.sends.head,
                {.psn = frame.headers.bth.psn.value(),
                 .bytes = bytes,
                 .step = TraceStep::kPlaced,
                 .opcode = frame.headers.bth.opcode});
}

void trace_made(Trace& trace, Qp& qp, std::uint32_t position, const wire::Frame& frame,
                std::uint32_t count) {
  TraceRecord record{.step = TraceStep::kPacketMade};
  fill(record, frame);
  for (std::uint32_t i = 0; i < count; ++i) {
    record.psn = (frame.headers.bth.psn + i).value();
    trace_request(trace, qp, position, record);
  }
}

void trace_message(Trace& trace, Qp& qp, TraceRecord record) {
  if (trace.of(qp.qpn.value()).received >= trace.messages()) return;
  fill(record, qp, trace.of(qp.qpn.value()).received);
  trace.add(record);
}

void trace_message(Trace& trace, Qp& qp, TraceStep step, const wire::Frame& frame) {
  trace_message(trace, qp,
                {.psn = frame.headers.bth.psn.value(),
                 .bytes = frame.payload_length,
                 .step = step,
                 .opcode = frame.headers.bth.opcode});
}

void count_message(Trace& trace, Qp& qp) {
  // One more, because the last message that is recorded may not have been answered yet.
  if (++trace.of(qp.qpn.value()).received > trace.messages()) qp.trace_over.messages = true;
}

void trace_arrival(Trace& trace, Qp& qp, const wire::Frame& frame, bool is_response) {
  if (is_response ? !expects_response(trace, qp)
                  : trace.of(qp.qpn.value()).received >= trace.messages())
    return;
  TraceRecord record{.step = TraceStep::kPacketReceived};
  fill(record, frame);
  record.id = short_address(frame.flow.source);
  record.qpn = qp.qpn.value();
  record.peer = qp.datagram() ? frame.headers.deth.source_qp.value() : qp.peer.value();
  trace.add(record);
}

void trace_answer(Trace& trace, Qp& qp, const wire::Frame& frame) {
  if (qp.trace_over.messages && !is_nak(frame)) return;
  TraceRecord record{.step = TraceStep::kPacketMade};
  fill(record, frame);
  record.qpn = qp.qpn.value();
  if (wire::operation_of(record.opcode) == wire::Operation::kAcknowledge) {
    record.step = is_nak(frame) ? TraceStep::kNakSent : TraceStep::kAckSent;
    record.detail = detail_of(TraceDetail::kSyndrome, frame.headers.aeth.syndrome);
  }
  trace.add(record);
}

void trace_acknowledge(Trace& trace, Qp& qp, const wire::Frame& frame) {
  const bool nak = is_nak(frame);
  if (!nak && (qp.trace_over.sends || !expects_response(trace, qp))) return;
  trace.add({.qpn = qp.qpn.value(),
             .psn = frame.headers.bth.psn.value(),
             .step = nak ? TraceStep::kNakReceived : TraceStep::kAckReceived,
             .opcode = frame.headers.bth.opcode,
             .detail = detail_of(TraceDetail::kSyndrome, frame.headers.aeth.syndrome)});
}

void trace_refusal(Trace* trace, Qp& qp, const wire::Frame& frame, TraceRefusal why) {
  if (trace == nullptr) [[likely]]
    return;
  trace->add({.qpn = qp.qpn.value(),
              .psn = frame.headers.bth.psn.value(),
              .bytes = frame.payload_length,
              .step = TraceStep::kRefused,
              .opcode = frame.headers.bth.opcode,
              .detail = detail_of(TraceDetail::kRefusal, why)});
}

void trace_retransmit(Trace& trace, Qp& qp, Psn from, TraceCause why) {
  trace_rare_request(trace, qp, qp.sends.head,
                     {.psn = from.value(),
                      .step = TraceStep::kRetransmit,
                      .detail = detail_of(TraceDetail::kCause, why)});
}

// A QP that is created or destroyed tells its type, and how much it sent and received.
void trace_state(Trace& trace, Qp& qp, TraceStep step) {
  TraceRecord record{.qpn = qp.qpn.value(), .step = step};
  if (step == TraceStep::kCreateQp) trace.of(record.qpn) = {.qpn = record.qpn, .used = true};
  if (step == TraceStep::kModifyQp) {
    record.detail = detail_of(TraceDetail::kQpState, qp.state);
    if (qp.state == QpState::kReset) {
      trace.drop_unpolled(record.qpn);
      trace.of(record.qpn).tail = qp.sends.tail;
    }
    if (qp.connected() && qp.can_receive()) {
      record.peer = qp.peer.value();
      record.id = short_address(qp.flow.destination);
    }
  } else {
    record.detail = detail_of(TraceDetail::kQpType, qp.type);
    record.id = trace.of(qp.qpn.value()).received;
    record.message = static_cast<std::uint32_t>(count_posts(trace, qp));
  }
  trace.add(record);
}

void trace_posts(Trace& trace, Qp& qp, std::uint32_t first) {
  for (std::uint32_t position = first; position != qp.sends.tail; ++position) {
    const SendWqe& wqe = qp.sends.at(position);
    trace_request(trace, qp, position,
                  {.id = wqe.wr_id,
                   .peer = qp.datagram() ? qp.sends.extra_of(wqe).to.qpn.value() : 0,
                   .bytes = wqe.length,
                   .step = TraceStep::kPost,
                   .opcode = static_cast<std::uint8_t>(wqe.op)});
  }
}

void trace_completion(Trace& trace, Qp& qp, const Completion& completion) {
  const bool receive = is_receive(completion);
  const bool over = receive ? qp.trace_over.messages : qp.trace_over.sends;
  if (over && completion.status == WcStatus::kSuccess) return;
  const std::uint64_t number =
      receive ? trace.of(qp.qpn.value()).received : number_of(trace, qp, qp.sends.head);
  if (completion.status == WcStatus::kSuccess && number >= trace.messages()) return;
  TraceRecord record{.id = completion.wr_id,
                     .bytes = completion.bytes,
                     .step = TraceStep::kCompletion,
                     .opcode = static_cast<std::uint8_t>(completion.opcode),
                     .detail = detail_of(TraceDetail::kWcStatus, completion.status)};
  fill(record, qp, number);
  trace.add(record);
  trace.completed(qp.qpn.value());
}

void trace_poll(Trace& trace, Qp& qp, const Completion& completion) {
  if (!trace.polled(qp.qpn.value())) return;
  trace.add({.id = completion.wr_id,
             .qpn = qp.qpn.value(),
             .bytes = completion.bytes,
             .step = TraceStep::kPolled,
             .opcode = static_cast<std::uint8_t>(completion.opcode),
             .detail = detail_of(TraceDetail::kWcStatus, completion.status)});
}

}  // namespace nerve::nic
