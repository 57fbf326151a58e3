#include "sim/workload/lines.h"

#include <algorithm>

#include "base/check.h"

namespace nerve::sim {

Lines::Lines(const JobContext& context)
    : context_{context},
      nic_of_(context.ranks()),
      gpus_(context.ranks()),
      storage_(context.storage.size()) {
  const std::uint32_t gpus = context.gpus_per_server;
  const std::uint32_t shared = std::min(context.nics_per_server, gpus);
  CHECK(shared > 0);
  for (std::uint32_t rank = 0; rank < context.ranks(); ++rank) {
    const std::uint32_t gpu = context.places[rank].value() % gpus;
    nic_of_[rank] = context.server_of_rank[rank] * shared + gpu * shared / gpus;
  }
  const std::uint64_t each = context.nics_per_server / shared;
  nic_rate_ = Rate::bits_per_second(context.nic_rate.bits_per_second() * each);
  const auto last = std::ranges::max_element(nic_of_);
  nics_.resize(last == nic_of_.end() ? 0 : *last + 1);
}

bool Lines::together(std::uint32_t a, std::uint32_t b) const {
  return context_.server_of_rank[a] == context_.server_of_rank[b];
}

Duration Lines::delay(PlaceId from, PlaceId to) const {
  return context_.delay_between ? context_.delay_between(from, to) : context_.network_delay;
}

Duration Lines::on_cable(Rate rate, std::uint64_t bytes) const {
  const std::uint64_t packets = bytes / context_.mtu + (bytes % context_.mtu == 0 ? 0 : 1);
  return rate.time_to_send(bytes + packets * context_.header_bytes);
}

Rate Lines::storage_rate() const {
  const Rate disks = context_.storage_rate;
  return disks == Rate{} ? context_.nic_rate : std::min(disks, context_.nic_rate);
}

Duration Lines::alone(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const {
  if (together(from, to)) {
    return context_.interconnect_delay + context_.interconnect.time_to_send(bytes);
  }
  return delay(context_.places[from], context_.places[to]) + on_cable(context_.nic_rate, bytes);
}

Duration Lines::alone_to_storage(std::uint32_t from, std::uint32_t server,
                                 std::uint64_t bytes) const {
  return delay(context_.places[from], context_.storage[server]) + on_cable(storage_rate(), bytes);
}

Rate Lines::rate_of_rank() const {
  const std::uint64_t all = context_.nic_rate.bits_per_second() * context_.nics_per_server;
  return std::min(context_.nic_rate, Rate::bits_per_second(all / context_.gpus_per_server));
}

void Lines::add(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
  if (together(from, to)) {
    gpus_[from].out += bytes;
    gpus_[to].in += bytes;
  } else {
    nics_[nic_of_[from]].out += bytes;
    nics_[nic_of_[to]].in += bytes;
  }
}

void Lines::add_to_storage(std::uint32_t from, std::uint32_t server, std::uint64_t bytes) {
  nics_[nic_of_[from]].out += bytes;
  storage_[server].in += bytes;
}

Duration Lines::busiest() const {
  const auto most = [](const std::vector<Load>& loads) {
    std::uint64_t bytes = 0;
    for (const Load& load : loads) bytes = std::max({bytes, load.out, load.in});
    return bytes;
  };
  return std::max({on_cable(nic_rate_, most(nics_)), on_cable(storage_rate(), most(storage_)),
                   context_.interconnect.time_to_send(most(gpus_))});
}

void Lines::clear() {
  for (std::vector<Load>* const loads : {&nics_, &gpus_, &storage_}) {
    std::ranges::fill(*loads, Load{});
  }
}

}  // namespace nerve::sim
