#include "tests/dst/receive_feeder.h"

#include <vector>

namespace nerve::dst {

bool ReceiveFeeder::promise() {
  Receive receive{.capacity = terms_.receive_capacity,
                  .bad = prng_.chance(terms_.bad_receive_per_mille)};
  const std::uint64_t pieces = prng_.between(1, terms_.caps.max_recv_sge);
  std::size_t left = receive.capacity;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::size_t length = i + 1 == pieces ? left : prng_.between(0, left);
    const auto at = host_.memory().take(MemoryModel::kLocal, length, 1, prng_);
    if (!at) return false;
    receive.ranges.push_back({*at, length});
    left -= length;
  }
  ready_.push_back(std::move(receive));
  if (terms_.late_receives) model_.fell_behind();
  const Duration wait = terms_.late_receives
                            ? Duration{std::chrono::microseconds{prng_.between(0, 400)}}
                            : Duration{};
  events_.after(wait, [self = shared_from_this()] {
    self->feed();
    if (!self->stopped_) self->host_.pump();
  });
  return true;
}

void ReceiveFeeder::feed() {
  while (!stopped_ && !ready_.empty() &&
         model_.outstanding() < terms_.caps.max_recv_wr + model_.possibly_lost()) {
    Receive& receive = ready_.front();
    receive.wr_id = model_.next_wr_id();
    LKey key = host_.keys(MemoryModel::kLocal).lkey;
    if (receive.bad) {
      key = prng_.chance(500) ? LKey{key.value() ^ 3} : host_.keys(MemoryModel::kStatic).lkey;
    }
    std::vector<nic::Sge> sges;
    for (const Range& range : receive.ranges) {
      sges.push_back({.address = MemoryModel::iova(range.offset),
                      .length = static_cast<std::uint32_t>(range.length),
                      .lkey = key});
    }
    const nic::RecvWr wr{.wr_id = receive.wr_id, .sges = sges};
    const auto status = qp_ ? host_.nic().post_recv(qp_, wr) : host_.nic().post_srq_recv(srq_, wr);
    if (!status) {
      // Only a receive that was lost with its QP makes room that the model does not know of.
      const bool full = status.error().code == nic::ErrorCode::kQueueFull;
      if (full && model_.outstanding() >= terms_.caps.max_recv_wr) break;
      journal_.violation(events_.now(), std::string{"post_recv refused: "} + status.error().reason);
      return;
    }
    model_.posted(std::move(receive));
    ready_.pop_front();
  }
  if (!ready_.empty()) model_.fell_behind();
}

}  // namespace nerve::dst
