#include <algorithm>
#include <cstring>

#include "tests/golden/replay_engine.h"

namespace nerve::golden {

using nic::SendOp;
using wire::HeaderSet;
using wire::Operation;
using wire::Position;

namespace {

// The work request that a message implies, filled packet by packet.
struct Work {
  nic::SendWr wr{};
  std::vector<std::byte> bytes{};  // SEND and WRITE
  std::uint32_t length{};
  std::uint32_t announced{};  // length in the RETH
};

SendOp op_of(Operation operation) {
  switch (operation) {
    case Operation::kWriteFirst:
    case Operation::kWriteOnly:
      return SendOp::kWrite;
    case Operation::kWriteOnlyImm:
      return SendOp::kWriteImm;
    case Operation::kReadRequest:
      return SendOp::kRead;
    case Operation::kCompareSwap:
      return SendOp::kCompareSwap;
    case Operation::kFetchAdd:
      return SendOp::kFetchAdd;
    case Operation::kSendOnlyImm:
      return SendOp::kSendImm;
    case Operation::kSendOnlyInvalidate:
      return SendOp::kSendInvalidate;
    default:
      return SendOp::kSend;
  }
}

void absorb(Work& work, const CapturedFrame& frame, const wire::OpcodeInfo& info) {
  const wire::Headers& h = frame.headers;
  if (info.position == Position::kFirst || info.position == Position::kOnly) {
    work = {};
    work.wr.op = op_of(info.operation);
    work.wr.remote_address = h.reth.address;
    work.wr.rkey = h.reth.rkey;
    work.announced = h.reth.length;
    work.length = h.reth.length;  // of a READ; for others the payload counts
    if (contains(info.headers, HeaderSet::kAtomicEth)) {
      const bool swaps = work.wr.op == SendOp::kCompareSwap;
      work.wr.remote_address = h.atomic.address;
      work.wr.rkey = h.atomic.rkey;
      work.wr.compare_or_add = swaps ? h.atomic.compare : h.atomic.swap_or_add;
      work.wr.swap = h.atomic.swap_or_add;
      work.length = 8;
    }
  }
  if (h.bth.solicited) work.wr.flags |= nic::SendFlags::kSolicited;
  if (contains(info.headers, HeaderSet::kImmDt)) {
    work.wr.immediate = h.immediate;
    if (work.wr.op == SendOp::kSend) work.wr.op = SendOp::kSendImm;
    if (work.wr.op == SendOp::kWrite) work.wr.op = SendOp::kWriteImm;
  }
  if (contains(info.headers, HeaderSet::kIeth)) {
    work.wr.rkey = h.invalidate;
    work.wr.op = SendOp::kSendInvalidate;
  }
  work.bytes.insert(work.bytes.end(), frame.payload.begin(), frame.payload.end());
  const bool brings = work.wr.op == SendOp::kRead || work.length == 8;
  if (!brings) work.length = static_cast<std::uint32_t>(work.bytes.size());
}

std::vector<Work> work_of(const Conversation& c) {
  std::vector<Work> all;
  Work work;
  bool unfinished = false;
  Psn next = c.frames.front().headers.bth.psn;
  for (const CapturedFrame& frame : c.frames) {
    // Only the first transmission of each packet carries new information.
    if (!frame.request || frame.headers.bth.psn != next) continue;
    const wire::OpcodeInfo& info = *wire::find_opcode(frame.headers.bth.opcode);
    absorb(work, frame, info);
    std::uint32_t psns = 1;
    if (work.wr.op == SendOp::kRead && work.length > 0) psns = (work.length - 1) / c.mtu + 1;
    next = next + psns;
    unfinished = info.position == Position::kFirst || info.position == Position::kMiddle;
    if (!unfinished) all.push_back(work);
  }
  if (unfinished) {
    // The message was rejected in the middle: the rest was never sent, but must exist.
    work.bytes.resize(std::max<std::size_t>(work.announced, work.bytes.size() + 1));
    work.length = static_cast<std::uint32_t>(work.bytes.size());
    all.push_back(work);
  }
  return all;
}

}  // namespace

std::vector<CapturedFrame> replay_requester(const Conversation& c, std::size_t& completed) {
  constexpr std::uint64_t kBase = 0x10000;
  constexpr std::uint64_t kSize = 1U << 20U;
  ReplayEngine engine{{.own = c.requester,
                       .peer = c.responder,
                       .qpn = c.requester_qpn,
                       .peer_qpn = c.responder_qpn,
                       .mtu = c.mtu,
                       .receives = Psn{},
                       .sends = c.frames.front().headers.bth.psn,
                       .access = {}},
                      kBase,
                      kSize};
  std::uint64_t place = kBase;
  for (const Work& work : work_of(c)) {
    if (!engine.covers(place, work.length)) place = kBase;
    if (!work.bytes.empty()) std::memcpy(engine.at(place), work.bytes.data(), work.length);
    const nic::Sge sge{.address = place, .length = work.length, .lkey = engine.keys().lkey};
    nic::SendWr wr = work.wr;
    wr.sges = {&sge, 1};
    wr.flags |= nic::SendFlags::kSignaled;
    CHECK(engine.nic().post_send(engine.qp(), wr).has_value());
    place += work.length;
  }
  std::vector<CapturedFrame> asked;
  engine.collect(asked);
  for (const CapturedFrame& frame : c.frames) {
    if (frame.request) continue;
    engine.feed(frame);
    engine.collect(asked);
  }
  nic::Completion done[16];
  completed = 0;
  for (std::size_t n = 0; (n = *engine.nic().poll_cq(engine.cq(), done)) > 0;) {
    for (std::size_t i = 0; i < n; ++i) completed += done[i].status == nic::WcStatus::kSuccess;
  }
  return asked;
}

}  // namespace nerve::golden
