#include "tests/bad_days/worlds/planner.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace worlds {
namespace {

Bytes bytes_of(std::uint64_t value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

Planner::Planner(World& world, nerve::Prng& prng)
    : world_{world}, prng_{prng}, ends_(world.qps.size()) {
  for (std::size_t qp = 0; qp < ends_.size(); ++qp) {
    for (std::size_t side = 0; side < 2; ++side) {
      const Place p = place(qp, side);
      const std::size_t mtu = worlds::bytes_of(p.qp.mtu);
      p.end.signaled_per_mille = static_cast<std::uint32_t>(prng_.between(200, 1000));
      const std::size_t large = prng_.chance(300) ? 60'000 : 20'000;
      p.end.largest = prng_.chance(120) ? large : mtu * prng_.between(1, 6) + prng_.below(4);
      if (!p.qp.reliable()) continue;
      const std::size_t length = prng_.between(1, mtu * 3);
      if (const auto at = p.theirs.take(Zone::kOpen, length, 1, prng_)) p.end.hot = {*at, length};
      p.end.word = p.theirs.take(Zone::kOpen, 8, 8, prng_);
      if (!prng_.chance(150)) continue;
      const std::size_t size = prng_.between(1, 16'384);
      if (const auto at = p.own.take(Zone::kOpen, size, 1, prng_)) {
        p.qp.ends[side].region = Piece{*at, size};
      }
    }
  }
}

Planner::Place Planner::place(std::size_t qp, std::size_t side) {
  return {.qp = world_.qps[qp],
          .side = side,
          .end = ends_[qp][side],
          .peer = ends_[qp][1 - side],
          .own = world_.memories[side],
          .theirs = world_.memories[1 - side]};
}

ReceiveQueue& Planner::receives_of(const Place& p, std::size_t side) {
  EndPlan& end = p.qp.ends[side];
  return end.shared_receives ? world_.sides[side].shared : end.receives;
}

std::size_t Planner::capacity(const Place& p) {
  const std::size_t fits = receives_of(p, 1 - p.side).capacity;
  return p.qp.type == IBV_QPT_UD ? std::min(fits, worlds::bytes_of(p.qp.mtu)) : fits;
}

Op Planner::draw_op(const Place& p) {
  constexpr std::array kOps{Op::kSend,  Op::kSendImm,     Op::kWrite,   Op::kWriteImm,
                            Op::kWrite, Op::kWrite,       Op::kRead,    Op::kRead,
                            Op::kRead,  Op::kCompareSwap, Op::kFetchAdd};
  constexpr std::size_t kOfUd = 2;
  constexpr std::size_t kOfUc = 5;
  const std::size_t count = p.qp.type == IBV_QPT_UD ? kOfUd : p.qp.reliable() ? kOps.size() : kOfUc;
  return kOps[prng_.below(count)];
}

void Planner::add(std::size_t qp, std::size_t side) {
  const Place p = place(qp, side);
  if (p.qp.reliable() && prng_.chance(60)) return add_window(qp, side);
  Request request{.op = draw_op(p)};
  if (fill(p, request)) append(p, std::move(request));
}

void Planner::append(const Place& p, Request request) {
  std::vector<Request>& all = p.qp.ends[p.side].requests;
  // Room in the send queue is known only from completions, so a full queue must contain a signaled
  // request.
  const bool must_tell = p.end.silent + 1 >= p.qp.depth;
  request.signaled = p.qp.signal_all || must_tell || p.qp.ends[p.side].one_by_one ||
                     request.op == Op::kBind || prng_.chance(p.end.signaled_per_mille);
  p.end.silent = request.signaled ? 0 : p.end.silent + 1;
  if (p.qp.reliable() && prng_.chance(50)) request.fenced = true;
  if (request.fenced) p.end.reads_hot = false;
  if (request.op == Op::kRead && p.end.hot && request.target.at >= p.end.hot->at &&
      request.target.at < p.end.hot->at + p.end.hot->length) {
    p.end.reads_hot = true;
  }
  if (request.consumes_receive) {
    ++p.end.sent;
    request.solicited = prng_.chance(300);
  }
  if (prng_.chance(80)) request.pause_us = static_cast<std::uint32_t>(prng_.between(1, 300));
  // Sometimes a program answers what it received.
  if (p.qp.reliable() && prng_.chance(100)) {
    request.after_receives = std::max(request.after_receives, p.peer.sent);
  }
  if (request.remote) p.theirs.plan(request.remote->at, request.remote->after);
  all.push_back(std::move(request));
}

bool Planner::fill(const Place& p, Request& request) {
  switch (request.op) {
    case Op::kSend:
    case Op::kSendImm:
      return fill_send(p, request);
    case Op::kWrite:
    case Op::kWriteImm:
      return fill_write(p, request);
    case Op::kRead:
      return fill_read(p, request);
    default:
      return fill_atomic(p, request);
  }
}

bool Planner::fill_send(const Place& p, Request& request) {
  request.consumes_receive = true;
  if (p.qp.type == IBV_QPT_UD && prng_.chance(150)) {
    request.spoil_qkey = 1;
    request.consumes_receive = false;
  }
  request.immediate = static_cast<std::uint32_t>(prng_.next());
  if (prng_.chance(150) && gather_result_of_read(p, request)) return true;
  return gather(p, request, draw_length(p, capacity(p)));
}

bool Planner::fill_write(const Place& p, Request& request) {
  if (request.op == Op::kWriteImm) {
    request.consumes_receive = true;
    request.immediate = static_cast<std::uint32_t>(prng_.next());
  }
  const std::size_t length = draw_length(p, p.end.largest);
  if (!gather(p, request, length)) return false;
  if (choose_region(p, request, length)) {
    set_remote(p, request, request.message);
    return true;
  }
  std::optional<std::size_t> at;
  if (p.end.hot && length <= p.end.hot->length && prng_.chance(350)) {
    // Overwriting earlier data reveals a stale duplicate that is executed again.
    at = p.end.hot->at + prng_.below(p.end.hot->length - length + 1);
    request.fenced = p.end.reads_hot;
  } else {
    at = p.theirs.take(Zone::kOpen, length, 1, prng_);
  }
  if (!at) return false;
  request.target.at = *at;
  set_remote(p, request, request.message);
  return true;
}

void Planner::set_remote(const Place&, Request& request, View after) {
  if (!after.empty()) {
    request.remote = Patch{.at = request.target.at, .after = {after.begin(), after.end()}};
  }
}

bool Planner::choose_region(const Place& p, Request& request, std::size_t length) {
  const std::optional<Piece>& region = p.qp.ends[1 - p.side].region;
  if (!region || !prng_.chance(600) || p.end.region_used + length > region->length) return false;
  request.target.region = true;
  request.target.at = region->at + p.end.region_used;
  p.end.region_used += length;
  return true;
}

bool Planner::fill_read(const Place& p, Request& request) {
  if (const std::size_t wanted = draw_length(p, p.end.largest); choose_region(p, request, wanted)) {
    const View there = p.theirs.planned(request.target.at, wanted);
    request.message.assign(there.begin(), there.end());
    return scatter(p, request);
  }
  const bool hot = p.end.hot && prng_.chance(400);
  const std::size_t start = hot ? p.end.hot->at : Memory::start(Zone::kStatic);
  const std::size_t room = hot ? p.end.hot->length : Memory::size(Zone::kStatic);
  const std::size_t length = std::min(draw_length(p, p.end.largest), room);
  request.target = {.zone = hot ? Zone::kOpen : Zone::kStatic,
                    .window = {},
                    .at = start + prng_.below(room - length + 1)};
  const View found = p.theirs.planned(request.target.at, length);
  request.message.assign(found.begin(), found.end());
  return scatter(p, request);
}

bool Planner::fill_atomic(const Place& p, Request& request) {
  if (request.op == Op::kFetchAdd && prng_.chance(500)) {
    // The result depends on the other QPs; the model checks all results together.
    request.counts = true;
    request.compare_or_add = 1;
    request.target.at = world_.sides[1 - p.side].counter_at;
    request.message.resize(8);
    return scatter(p, request);
  }
  if (!p.end.word) return false;
  std::uint64_t before = 0;
  std::memcpy(&before, p.theirs.planned(*p.end.word, 8).data(), 8);
  std::uint64_t after = before;
  if (request.op == Op::kCompareSwap) {
    request.compare_or_add = prng_.chance(700) ? before : prng_.next();
    request.swap = prng_.next();
    if (request.compare_or_add == before) after = request.swap;
  } else {
    request.compare_or_add = prng_.next();
    after = before + request.compare_or_add;
  }
  request.target.at = *p.end.word;
  request.message = bytes_of(before);
  set_remote(p, request, bytes_of(after));
  return scatter(p, request);
}

void Planner::add_receives() {
  constexpr std::size_t kGrh = 40;
  for (std::size_t side = 0; side < 2; ++side) {
    std::size_t shared = 0;
    for (std::size_t qp = 0; qp < ends_.size(); ++qp) {
      const Place p = place(qp, side);
      if (p.qp.ends[side].shared_receives) {
        shared += p.peer.sent;
      } else {
        fill_queue(p.qp.ends[side].receives, p.own, p.peer.sent, p.qp.reliable(),
                   p.qp.type == IBV_QPT_UD ? kGrh : 0);
      }
    }
    if (shared > 0) fill_queue(world_.sides[side].shared, world_.memories[side], shared, true, 0);
  }
}

void Planner::fill_queue(ReceiveQueue& queue, Memory& memory, std::size_t messages, bool reliable,
                         std::size_t extra_bytes) {
  const std::size_t count = messages + prng_.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    Receive receive;
    std::size_t left = queue.capacity + extra_bytes;
    for (std::uint64_t pieces = prng_.between(1, queue.max_sge); pieces > 0; --pieces) {
      const std::size_t part = pieces == 1 ? left : prng_.between(0, left);
      const auto at = memory.take(Zone::kReceive, part, 1, prng_);
      CHECK(at.has_value());  // the zone has room for all receives of a world
      receive.pieces.push_back({*at, part});
      left -= part;
    }
    if (queue.late && reliable && prng_.chance(400)) {
      receive.delay_us = static_cast<std::uint32_t>(prng_.between(5, 800));
    }
    queue.receives.push_back(std::move(receive));
  }
  // Unreliable messages do not wait for a receive.
  if (!reliable) queue.depth = static_cast<std::uint32_t>(std::max<std::size_t>(1, count));
}

}  // namespace worlds
