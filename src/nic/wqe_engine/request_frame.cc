#include "nic/wqe_engine/request_frame.h"

#include <algorithm>

#include "base/planted.h"
#include "wire/selective_nak.h"

namespace nerve::nic {
namespace {

using wire::Operation;

Operation send_operation(const SendWqe& wqe, bool first, bool last) {
  if (!last) return first ? Operation::kSendFirst : Operation::kSendMiddle;
  switch (wqe.op) {
    case SendOp::kSendImm:
      return first ? Operation::kSendOnlyImm : Operation::kSendLastImm;
    case SendOp::kSendInvalidate:
      return first ? Operation::kSendOnlyInvalidate : Operation::kSendLastInvalidate;
    default:
      return first ? Operation::kSendOnly : Operation::kSendLast;
  }
}

Operation write_operation(const SendWqe& wqe, bool first, bool last) {
  if (!last) return first ? Operation::kWriteFirst : Operation::kWriteMiddle;
  if (wqe.op == SendOp::kWriteImm) {
    return first ? Operation::kWriteOnlyImm : Operation::kWriteLastImm;
  }
  return first ? Operation::kWriteOnly : Operation::kWriteLast;
}

void fill_datagram(const Qp& qp, const SendWqe& wqe, wire::Headers& headers) {
  const SendExtra::Destination& to = qp.sends.extra_of(wqe).to;
  headers.bth.dest_qp = to.qpn;
  // A Q_Key with its top bit set is privileged: the QP's own is sent instead (IBTA 10.2.5).
  constexpr std::uint32_t kPrivileged = 0x8000'0000;
  const bool own = (to.qkey & kPrivileged) != 0;
  headers.deth = {.qkey = own ? qp.attributes.qkey : to.qkey, .source_qp = qp.qpn};
}

}  // namespace

Segment segment_of(const SendWqe& wqe, std::uint32_t index, std::uint32_t mtu) {
  if (wqe.placed) return {.index = 0, .offset = 0, .length = 0, .first = true, .last = true};
  const std::uint64_t offset = std::uint64_t{index} * mtu;
  const std::uint64_t rest = wqe.length - std::min<std::uint64_t>(offset, wqe.length);
  return {.index = index,
          .offset = offset,
          .length = static_cast<std::uint32_t>(std::min<std::uint64_t>(rest, mtu)),
          .first = index == 0,
          .last = index + 1 == wqe.packets};
}

void fill_request_headers(const Qp& qp, const SendWqe& wqe, const Segment& segment, PKey pkey,
                          wire::Headers& headers) {
  wire::Bth& bth = headers.bth;
  bth.pkey = pkey;
  bth.dest_qp = qp.peer;
  if (qp.offers_selective) bth.reserved7 = wire::kSelectiveCapable;
  const std::uint64_t read_offset = planted(Bug::kReadRestartWrongOffset) ? 0 : segment.offset;

  const auto extra = [&]() -> const SendExtra& { return qp.sends.extra_of(wqe); };
  Operation operation{};
  switch (wqe.op) {
    case SendOp::kSend:
    case SendOp::kSendImm:
    case SendOp::kSendInvalidate:
      operation = send_operation(wqe, segment.first, segment.last);
      break;
    case SendOp::kWrite:
    case SendOp::kWriteImm:
      operation = write_operation(wqe, segment.first, segment.last);
      if (segment.first) headers.reth = {wqe.remote_address, wqe.rkey, wqe.length};
      break;
    case SendOp::kRead:
      operation = Operation::kReadRequest;
      headers.reth = {wqe.remote_address + read_offset, wqe.rkey,
                      static_cast<std::uint32_t>(wqe.length - segment.offset)};
      break;
    case SendOp::kCompareSwap:
      operation = Operation::kCompareSwap;
      headers.atomic = {wqe.remote_address, wqe.rkey, extra().word.swap,
                        extra().word.compare_or_add};
      break;
    case SendOp::kFetchAdd:
      operation = Operation::kFetchAdd;
      headers.atomic = {wqe.remote_address, wqe.rkey, extra().word.compare_or_add, 0};
      break;
    case SendOp::kAtomicWrite:
      operation = Operation::kAtomicWrite;
      headers.reth = {wqe.remote_address, wqe.rkey, wqe.length};
      break;
    case SendOp::kFlush:
      operation = Operation::kFlush;
      headers.reth = {wqe.remote_address, wqe.rkey, wqe.length};
      headers.feth = {extra().flush.placement, extra().flush.selectivity};
      break;
    case SendOp::kLocalInvalidate:
    case SendOp::kBindMw:
      CHECK(false);  // local operations send no packets
  }
  bth.opcode = wire::opcode(qp.transport(), operation);

  const bool carries_data =
      wqe.packets > 0 && !(wqe.op == SendOp::kRead || wqe.op == SendOp::kCompareSwap ||
                           wqe.op == SendOp::kFetchAdd || wqe.op == SendOp::kFlush);
  if (carries_data) bth.pad = static_cast<std::uint8_t>((0U - segment.length) & 3U);
  if (segment.last) {
    bth.solicited = contains(wqe.flags, SendFlags::kSolicited) && wqe.consumes_receive();
    if (wqe.op == SendOp::kSendImm || wqe.op == SendOp::kWriteImm) {
      headers.immediate =
          planted(Bug::kDropImmediate) && wqe.op == SendOp::kWriteImm ? 0 : wqe.immediate;
    }
    if (wqe.op == SendOp::kSendInvalidate) headers.invalidate = wqe.rkey;
  }
  if (qp.type == QpType::kXrcSend) headers.xrc_srq = extra().remote_srq;
  if (qp.datagram()) fill_datagram(qp, wqe, headers);
}

}  // namespace nerve::nic
