#include "sim/host/interconnect.h"

#include "sim/host/cluster_task.h"

namespace nerve::sim {

void Interconnect::send(PlaceId from, PlaceId to, std::uint64_t bytes, std::uint32_t name) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  transfers_[number] = {from.value(), to.value(), bytes, slice_of(bytes), name};
  bytes_ += bytes;
  ways_[from.value()].waiting.push_back(number);
  start_next(from.value());
}

void Interconnect::start_next(std::uint32_t from) {
  Ways& out = ways_[from];
  if (out.sends) return;
  const auto next = std::ranges::find_if(
      out.waiting, [&](std::uint32_t number) { return !ways_[transfers_[number].to].receives; });
  if (next == out.waiting.end()) return;
  const std::uint32_t number = *next;
  out.waiting.erase(next);
  out.sends = true;
  ways_[transfers_[number].to].receives = true;
  const std::uint64_t slice = std::min(transfers_[number].left, transfers_[number].slice);
  simulation_.task_at(simulation_.now() + rate_.time_to_send(slice),
                      static_cast<std::uint32_t>(ClusterTask::kSlice), number);
}

Interconnect::Slice Interconnect::slice_done(std::uint32_t number) {
  Transfer& transfer = transfers_[number];
  const std::uint32_t from = transfer.from;
  const std::uint32_t to = transfer.to;
  transfer.left -= std::min(transfer.left, transfer.slice);
  const Slice done{transfer.name, transfer.left == 0};
  if (done.last) {
    free_.push_back(number);
  } else {
    ways_[from].waiting.push_back(number);
  }
  ways_[from].sends = ways_[to].receives = false;
  // Other senders have waited longer for the receiver than this one, so they go first.
  const std::uint32_t first = from - from % gpus_;
  for (std::uint32_t i = 1; i <= gpus_; ++i) start_next(first + (from - first + i) % gpus_);
  return done;
}

}  // namespace nerve::sim
