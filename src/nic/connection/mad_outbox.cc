#include "nic/connection/mad_outbox.h"

#include "nic/qp_context/qp_table.h"

namespace nerve::nic {

void trace_mad(Trace& trace, TraceStep step, const wire::Frame& frame, const wire::CmMad& mad) {
  trace.add({.id = mad.transaction_id,
             .qpn = kGsiQpn.value(),
             .peer = kGsiQpn.value(),
             .psn = frame.headers.bth.psn.value(),
             .bytes = frame.payload_length,
             .step = step,
             .opcode = frame.headers.bth.opcode,
             .detail = detail_of(TraceDetail::kCm, mad.message.index())});
}

MadOutbox::Room& MadOutbox::room() {
  if (!room_) room_ = std::make_unique<Room>();
  return *room_;
}

void MadOutbox::add(const wire::Flow& flow, const wire::CmMad& mad) {
  if (count_ == kAnswers) {
    ++counters_.mads_dropped;
    return;
  }
  room().answers[(head_ + count_++) % kAnswers] = {flow, mad};
}

void MadOutbox::put(TxBurst& burst, const wire::Flow& flow, const wire::CmMad& mad) {
  if (!port_.active()) return;
  std::array<std::byte, wire::CmMad::kSize>& bytes = room().buffers[used_++];
  mad.encode(bytes);
  wire::Frame& frame = burst.add();
  frame.flow = flow;
  frame.flow.source_port = datagram_source_port(kGsiQpn);
  wire::Bth& bth = frame.headers.bth;
  bth.opcode = wire::opcode(wire::Transport::kUd, wire::Operation::kSendOnly);
  bth.pkey = port_.pkey(0).value_or(PKey{0xffff});
  bth.dest_qp = kGsiQpn;
  bth.psn = psn_;
  psn_ = psn_ + 1;
  frame.headers.deth = {.qkey = wire::kGsiQkey, .source_qp = kGsiQpn};
  burst.add_piece(
      {.address = reinterpret_cast<std::uint64_t>(bytes.data()), .length = wire::CmMad::kSize});
  if (trace_ != nullptr) [[unlikely]]
    trace_mad(*trace_, TraceStep::kCmSend, frame, mad);
  ++counters_.frames_sent;
  counters_.bytes_sent += wire::CmMad::kSize;
  ++counters_.mads_sent;
}

void MadOutbox::put_answers(TxBurst& burst) {
  for (; count_ > 0 && has_room(burst); --count_, head_ = (head_ + 1) % kAnswers) {
    const Answer& answer = room().answers[head_];
    put(burst, answer.flow, answer.mad);
  }
}

}  // namespace nerve::nic
