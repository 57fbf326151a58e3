#include "nic/wqe_engine/post_send.h"

#include <algorithm>
#include <cstring>

namespace nerve::nic {
namespace {

bool supports(QpType type, SendOp op) {
  switch (type) {
    case QpType::kRc:
    case QpType::kXrcSend:
      return op <= SendOp::kBindMw;
    case QpType::kUc:
      return op == SendOp::kSend || op == SendOp::kSendImm || op == SendOp::kWrite ||
             op == SendOp::kWriteImm || op == SendOp::kBindMw || op == SendOp::kLocalInvalidate;
    case QpType::kUd:
    case QpType::kGsi:
      return op == SendOp::kSend || op == SendOp::kSendImm;
    case QpType::kXrcRecv:
      return false;
  }
  return false;
}

constexpr std::uint32_t kWord = sizeof(std::uint64_t);

// Operations that return the previous 64-bit word.
bool fetches_word(SendOp op) { return op == SendOp::kCompareSwap || op == SendOp::kFetchAdd; }

bool takes_inline(SendOp op) { return op != SendOp::kRead && !fetches_word(op); }

// Operations on one 64-bit word.
bool is_word(SendOp op) { return fetches_word(op) || op == SendOp::kAtomicWrite; }

bool needs_extra(SendOp op) { return op == SendOp::kBindMw || op == SendOp::kFlush || is_word(op); }

bool carries_no_list(SendOp op) {
  return op == SendOp::kFlush || op == SendOp::kLocalInvalidate || op == SendOp::kBindMw;
}

std::uint32_t packets_for(const SendWqe& wqe, std::uint32_t mtu) {
  if (wqe.is_local()) return 0;
  if (wqe.op == SendOp::kFlush || wqe.length <= mtu) return 1;
  if (mtu == 0) return 1;  // a QP that entered ERR before it had a path will send nothing
  return (wqe.length - 1) / mtu + 1;
}

Status check_state(const Qp& qp) {
  switch (qp.state) {
    case QpState::kReset:
    case QpState::kInit:
    case QpState::kRtr:
      return refuse(ErrorCode::kInvalid, "post send: the QP is not ready to send",
                    static_cast<std::uint64_t>(qp.state));
    default:
      return Done{};
  }
}

Expected<std::uint64_t> message_length(const Qp& qp, const SendWr& wr, const Limits& limits) {
  std::uint64_t length = 0;
  for (const Sge& sge : wr.sges) length += sge.length;
  if (length > limits.max_message) {
    return refuse(ErrorCode::kInvalid, "post send: message too long", length, limits.max_message);
  }
  if (fetches_word(wr.op)) {
    if (length < kWord) {
      return refuse(ErrorCode::kInvalid, "post send: an atomic needs eight bytes", length, kWord);
    }
    length = kWord;  // the result is written to the first eight bytes of a longer list
  }
  if (wr.op == SendOp::kAtomicWrite && length != kWord) {
    return refuse(ErrorCode::kInvalid, "post send: an atomic write is of eight bytes", length,
                  kWord);
  }
  if (carries_no_list(wr.op) && length != 0) {
    return refuse(ErrorCode::kInvalid, "post send: this operation carries no data", length, 0);
  }
  if (contains(wr.flags, SendFlags::kInline)) {
    if (!takes_inline(wr.op)) return refuse(ErrorCode::kInvalid, "post send: cannot be inline");
    if (length > qp.sends.max_inline()) {
      return refuse(ErrorCode::kInvalid, "post send: too long to be inline", length,
                    qp.sends.max_inline());
    }
  }
  return length;
}

// The bytes are copied now: the caller may reuse its buffer as soon as post_send returns.
void copy_inline(const SendWr& wr, std::byte* out) {
  for (const Sge& sge : wr.sges) {
    if (sge.length == 0) continue;
    std::memcpy(out, reinterpret_cast<const void*>(sge.address), sge.length);
    out += sge.length;
  }
}

}  // namespace

Status enqueue_send(Qp& qp, const SendWr& wr, const Limits& limits) {
  if (const Status ready = check_state(qp); !ready) return ready;
  if (!supports(qp.type, wr.op)) {
    return refuse(ErrorCode::kInvalid, "post send: not an operation of this QP type",
                  static_cast<std::uint64_t>(wr.op));
  }
  if (qp.sends.plain() && needs_extra(wr.op)) {
    return refuse(ErrorCode::kInvalid, "post send: the QP was created as a plain one",
                  static_cast<std::uint64_t>(wr.op));
  }
  if (qp.sends.full()) {
    return refuse(ErrorCode::kQueueFull, "post send: queue full", qp.sends.depth(),
                  qp.sends.depth());
  }
  const bool is_inline = contains(wr.flags, SendFlags::kInline);
  if (!is_inline && wr.sges.size() > qp.sends.max_sge()) {
    return refuse(ErrorCode::kInvalid, "post send: too many scatter/gather entries", wr.sges.size(),
                  qp.sends.max_sge());
  }
  const Expected<std::uint64_t> length = message_length(qp, wr, limits);
  if (!length) return Unexpected{length.error()};
  if (qp.datagram() && !wr.ah) return refuse(ErrorCode::kInvalid, "post send: no address handle");

  SendWqe& wqe = qp.sends.at(qp.sends.tail);
  wqe.wr_id = wr.wr_id;
  wqe.op = wr.op;
  wqe.flags = wr.flags;
  wqe.sge_count = is_inline ? std::uint8_t{0} : static_cast<std::uint8_t>(wr.sges.size());
  wqe.started = false;
  wqe.placed = false;
  wqe.fault = WcStatus::kSuccess;
  wqe.length = wr.op == SendOp::kFlush ? wr.flush_length : static_cast<std::uint32_t>(*length);
  wqe.packets = packets_for(wqe, qp.mtu);
  wqe.rkey = wr.rkey;
  wqe.remote_address = wr.remote_address;
  wqe.immediate = wr.immediate;
  if (is_word(wr.op)) {
    qp.sends.extra_of(wqe).word = {wr.compare_or_add, wr.swap};
  } else if (qp.datagram()) {
    qp.sends.extra_of(wqe).to = {wr.ah, wr.remote_qpn, wr.remote_qkey, wr.pkey_index};
  } else if (wr.op == SendOp::kFlush) {
    qp.sends.extra_of(wqe).flush = {wr.flush_placement, wr.flush_selectivity};
  } else if (wr.op == SendOp::kBindMw) {
    qp.sends.extra_of(wqe).bind = wr.bind;
  }
  if (qp.type == QpType::kXrcSend) {
    qp.sends.extra_of(wqe).remote_srq = wr.remote_srq & 0xff'ffffU;
  }

  if (is_inline) {
    copy_inline(wr, qp.sends.inline_at(qp.sends.tail));
  } else {
    std::ranges::copy(wr.sges, qp.sends.list_at(qp.sends.tail).begin());
  }
  ++qp.sends.tail;
  return Done{};
}

}  // namespace nerve::nic
