// Lengths and scatter/gather lists of Planner.
#include <algorithm>

#include "tests/bad_days/worlds/planner.h"

namespace worlds {

std::size_t Planner::draw_length(const Place& p, std::size_t limit) {
  const std::size_t mtu = bytes_of(p.qp.mtu);
  std::size_t length = 0;
  switch (prng_.below(8)) {
    case 0:
      break;
    case 1:
    case 2:
    case 3:
      length = prng_.between(1, 64);
      break;
    case 4:
    case 5:
      length = prng_.between(1, mtu);
      break;
    case 6:
      length = mtu * prng_.between(1, 4) + prng_.below(3) - 1;
      break;
    default:
      length = prng_.between(0, limit);
  }
  return std::min(length, limit);
}

bool Planner::gather(const Place& p, Request& request, std::size_t length) {
  request.inlined = length <= p.qp.max_inline && prng_.chance(400);
  std::uint64_t pieces = prng_.between(length > 0 ? 1 : 0, p.qp.max_sge);
  // Memory that the program overwrites as soon as it may, or memory that does not change.
  request.reuses_source = prng_.chance(500);
  std::size_t left = length;
  for (; pieces > 0; --pieces) {
    const std::size_t part = pieces == 1 ? left : prng_.between(0, left);
    std::size_t at = 0;
    if (request.reuses_source) {
      const auto fresh = p.own.take(Zone::kLocal, part, 1, prng_);
      if (!fresh) return false;
      at = *fresh;
    } else {
      at = Memory::start(Zone::kStatic) + prng_.below(Memory::size(Zone::kStatic) - part + 1);
    }
    const View source = p.own.planned(at, part);
    request.message.insert(request.message.end(), source.begin(), source.end());
    request.pieces.push_back({at, part});
    left -= part;
  }
  return true;
}

// Sends the result of the previous READ, which only a fence makes safe.
bool Planner::gather_result_of_read(const Place& p, Request& request) {
  const std::vector<Request>& all = p.qp.ends[p.side].requests;
  if (!p.qp.reliable() || all.empty() || all.back().op != Op::kRead) return false;
  const Request& read = all.back();
  if (read.message.size() > capacity(p)) return false;
  request.message = read.message;
  request.pieces = read.pieces;
  request.fenced = true;
  return true;
}

bool Planner::scatter(const Place& p, Request& request) {
  const bool atomic = request.op != Op::kRead;
  std::size_t left = request.message.size();
  for (std::uint64_t pieces = atomic ? 1 : prng_.between(1, p.qp.max_sge); pieces > 0; --pieces) {
    const std::size_t part = pieces == 1 ? left : prng_.between(0, left);
    const auto at = p.own.take(Zone::kLocal, part, 1, prng_);
    if (!at) return false;
    request.pieces.push_back({*at, part});
    left -= part;
  }
  return true;
}

}  // namespace worlds
