// Windows of Planner: bound by their owner, announced by a SEND, used by the peer, then invalidated
// by either of them or left alone.
#include "tests/bad_days/worlds/planner.h"

namespace worlds {

void Planner::add_window(std::size_t qp, std::size_t side) {
  const Place owner = place(qp, side);
  const Place user = place(qp, 1 - side);
  const std::size_t length = prng_.between(1, bytes_of(owner.qp.mtu) * 2);
  const auto at = owner.own.take(Zone::kOpen, length, 1, prng_);
  if (!at) return;
  const std::size_t window = world_.windows.size();
  const bool type_1 = prng_.chance(400);
  world_.windows.push_back({.side = side, .type_1 = type_1, .at = *at, .length = length});
  Request bind{.op = Op::kBind};
  bind.target.window = window;
  append(owner, std::move(bind));
  Request announce{.op = Op::kSend};
  if (!fill_send(owner, announce)) return;
  append(owner, std::move(announce));
  const std::uint32_t announced = owner.end.sent;
  for (std::uint64_t uses = prng_.between(1, 3); uses > 0; --uses) {
    Request use{.op = prng_.chance(700) ? Op::kWrite : Op::kRead};
    if (!through_window(user, window, use)) continue;
    use.after_receives = announced;
    append(user, std::move(use));
  }
  // A window of type 1 cannot be invalidated.
  const std::uint64_t how = type_1 ? 0 : prng_.below(3);
  if (how == 0) return;
  Request over{.op = how == 1 ? Op::kSendInvalidate : Op::kSend};
  over.after_receives = announced;
  // READs through the window must have returned before it is invalidated.
  over.fenced = true;
  if (over.op == Op::kSendInvalidate) over.target.window = window;
  over.consumes_receive = true;
  if (!gather(user, over, draw_length(user, capacity(user)))) return;
  append(user, std::move(over));
  if (how == 1) {
    user.end.invalidated.push_back(
        {.request = user.qp.ends[user.side].requests.size() - 1, .window = window});
    return;
  }
  Request invalidate{.op = Op::kLocalInvalidate};
  invalidate.target.window = window;
  invalidate.after_receives = user.end.sent;
  append(owner, std::move(invalidate));
}

bool Planner::through_window(const Place& p, std::size_t window, Request& request) {
  const Window& w = world_.windows[window];
  const std::size_t length = prng_.between(0, w.length);
  request.target.window = window;
  request.target.at = w.at + prng_.below(w.length - length + 1);
  if (request.op == Op::kWrite) {
    // An earlier READ may be executed again after a loss, and would return what this request wrote.
    request.fenced = true;
    if (!gather(p, request, length)) return false;
    set_remote(p, request, request.message);
    return true;
  }
  const View found = p.theirs.planned(request.target.at, length);
  request.message.assign(found.begin(), found.end());
  return scatter(p, request);
}

}  // namespace worlds
