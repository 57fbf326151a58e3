// The requester's way past the wire (nic/short_cut.h).
#include "nic/short_cut.h"

#include <array>

#include "nic/wqe_engine/requester.h"

namespace nerve::nic {
namespace {

// Beyond this a ring is faster than the kernel's copy between processes.
constexpr std::uint32_t kLongest = 4096;

}  // namespace

// Only when nothing of the QP's is under way, for what is under way must come first; and only
// when the program polled since the last time: one that posts and posts is better served by
// packets, of which many leave together.
bool Requester::may_take_short_cut(const Qp& qp, const SendWqe& wqe) const {
  if (config_.short_cut == nullptr || qp.type != QpType::kRc) return false;
  if (wqe.op != SendOp::kWrite && wqe.op != SendOp::kRead) return false;
  const RequesterState& state = qp.requester;
  const bool quiet = state.unacked == state.next && qp.sends.tail - qp.sends.head == 1;
  return quiet && !wqe.started && wqe.packets == 1 && wqe.length > 0 && wqe.length <= kLongest &&
         qp.send_cq->polls != state.polls_at_short_cut;
}

bool Requester::take_short_cut(Qp& qp, SendWqe& wqe, TxBurst& burst) {
  qp.requester.polls_at_short_cut = qp.send_cq->polls;
  const ShortCut::Place place{.flow = qp.flow,
                              .from = qp.qpn,
                              .to = qp.attributes.dest_qp,
                              .key = wqe.rkey,
                              .address = wqe.remote_address};
  bool done = false;
  if (wqe.op == SendOp::kWrite) {
    const wire::Frame& frame = burst.add();
    done = build(qp, qp.sends.cursor, qp.requester.next, burst) == WcStatus::kSuccess &&
           config_.short_cut->write(place, frame.payload);
    burst.drop_last();
  } else if (qp.attributes.max_read > 0) {
    std::array<std::byte, kLongest> octets;
    const wire::Piece fetched{.address = reinterpret_cast<std::uint64_t>(octets.data()),
                              .length = wqe.length};
    const std::span<const Sge> list{qp.sends.sges_at(qp.sends.cursor), wqe.sge_count};
    done = config_.short_cut->read(place, {octets.data(), wqe.length}) &&
           dma_.scatter(list, 0, {&fetched, 1}, qp.pd).has_value();
  }
  if (done) completions_.finish_send(qp, WcStatus::kSuccess);
  return done;
}

}  // namespace nerve::nic
