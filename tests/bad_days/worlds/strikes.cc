// How Planner makes QPs end early.
#include "tests/bad_days/worlds/planner.h"

namespace worlds {

void Planner::strike(std::size_t qp) {
  const std::size_t side = prng_.below(2);
  const Place p = place(qp, side);
  const bool region = p.qp.ends[side].region.has_value();
  if (!p.qp.reliable() || !prng_.chance(region ? 600 : 250)) return;
  std::vector<Request>& all = p.qp.ends[side].requests;
  p.qp.blow_side = side;
  p.qp.blow_at = prng_.between(0, all.size());
  p.qp.reregisters = prng_.chance(400);
  p.qp.peer_waits = prng_.chance(150);
  constexpr std::array kBlows{Blow::kBadRequest, Blow::kBadRequest, Blow::kError, Blow::kReset,
                              Blow::kDestroy};
  p.qp.blow = kBlows[prng_.below(kBlows.size())];
  if (region && prng_.chance(700)) p.qp.blow = Blow::kDeregister;
  if (p.qp.blow != Blow::kBadRequest) return;
  Request bad;
  if (!spoil(p, p.qp.blow_at, bad)) {
    p.qp.blow = Blow::kError;
    return;
  }
  bad.signaled = true;
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(p.qp.blow_at), std::move(bad));
}

// A request that must fail, and must not change a single byte.
bool Planner::spoil(const Place& p, std::size_t at, Request& request) {
  const std::size_t start = Memory::start(Zone::kOpen);
  const std::size_t length = prng_.between(1, p.end.largest);
  request.op = prng_.chance(500) ? Op::kWrite : Op::kRead;
  request.target.at = start;
  request.must_be = IBV_WC_REM_ACCESS_ERR;
  switch (prng_.below(7)) {
    case 0:  // a key with another variant byte
      request.target.spoil_key = static_cast<std::uint32_t>(prng_.between(1, 255));
      break;
    case 1:  // one byte past the end of the region, or more
      request.target.at = start + Memory::size(Zone::kOpen) - length +
                          (prng_.chance(700) ? 1 : static_cast<std::size_t>(length));
      break;
    case 2: {  // access that the region does not allow
      const bool write = request.op == Op::kWrite;
      request.target.zone = write && prng_.chance(500) ? Zone::kStatic : Zone::kLocal;
      request.target.at = Memory::start(request.target.zone);
      break;
    }
    case 3:  // a window that is gone
      for (const End::Invalidated& gone : p.end.invalidated) {
        if (gone.request >= at) continue;
        request.op = Op::kWrite;
        request.target.window = gone.window;
        request.target.at = world_.windows[gone.window].at;
        return gather(p, request, prng_.between(1, world_.windows[gone.window].length));
      }
      return false;
    case 4:  // an unaligned word
      if (!p.end.word) return false;
      request.op = prng_.chance(500) ? Op::kCompareSwap : Op::kFetchAdd;
      request.target.at = *p.end.word + prng_.between(1, 7);
      request.message.resize(8);
      request.must_be = IBV_WC_REM_INV_REQ_ERR;
      return scatter(p, request);
    case 5:  // larger than the receive
      request.op = Op::kSend;
      request.consumes_receive = true;
      ++p.end.sent;
      request.must_be = IBV_WC_REM_INV_REQ_ERR;
      return gather(p, request, receives_of(p, 1 - p.side).capacity + prng_.between(1, 2000));
    default:  // an unreadable source
      request.op = Op::kWrite;
      request.must_be = IBV_WC_LOC_PROT_ERR;
      request.spoil_lkey = 3;
      if (!gather(p, request, length)) return false;
      if (!request.inlined && !request.pieces.empty()) return true;
      return false;
  }
  if (request.op == Op::kWrite) {
    if (prng_.chance(300)) {
      request.op = Op::kWriteImm;
      request.consumes_receive = true;
      ++p.end.sent;
    }
    return gather(p, request, length);
  }
  request.message.resize(length);
  return scatter(p, request);
}

}  // namespace worlds
