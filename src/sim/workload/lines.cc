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
  const auto last = std::ranges::max_element(nic_of_);
  nics_.resize(last == nic_of_.end() ? 0 : *last + 1);
  nic_rates_.resize(nics_.size());
  for (std::uint32_t rank = 0; rank < context.ranks(); ++rank) {
    nic_rates_[nic_of_[rank]] =
        Rate::bits_per_second(rate_at(context.places[rank]).bits_per_second() * each);
  }
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

Rate Lines::storage_rate(std::size_t server) const {
  const Rate disks = context_.storage_rate;
  const Rate nic = rate_at(context_.storage[server]);
  return disks == Rate{} ? nic : std::min(disks, nic);
}

Duration Lines::alone(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const {
  if (together(from, to)) {
    return context_.interconnect_delay + context_.interconnect.time_to_send(bytes);
  }
  const PlaceId sender = context_.places[from];
  const PlaceId receiver = context_.places[to];
  return delay(sender, receiver) + on_cable(std::min(rate_at(sender), rate_at(receiver)), bytes);
}

Duration Lines::alone_to_storage(std::uint32_t from, std::uint32_t server,
                                 std::uint64_t bytes) const {
  const PlaceId sender = context_.places[from];
  return delay(sender, context_.storage[server]) +
         on_cable(std::min(rate_at(sender), storage_rate(server)), bytes);
}

Rate Lines::rate_of_rank() const {
  Rate nic = context_.nic_rate;
  if (context_.rate_of && context_.ranks() > 0) {
    std::uint64_t sum = 0;
    for (const PlaceId place : context_.places) sum += rate_at(place).bits_per_second();
    nic = Rate::bits_per_second(sum / context_.ranks());
  }
  const std::uint64_t all = nic.bits_per_second() * context_.nics_per_server;
  return std::min(nic, Rate::bits_per_second(all / context_.gpus_per_server));
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

Duration Lines::busiest_nic() const {
  Duration longest{};
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    if (nics_[i].more() > 0) longest = std::max(longest, on_cable(nic_rates_[i], nics_[i].more()));
  }
  for (std::size_t i = 0; i < storage_.size(); ++i) {
    longest = std::max(longest, on_cable(storage_rate(i), storage_[i].more()));
  }
  return longest;
}

Duration Lines::busiest() const {
  Duration longest = busiest_nic();
  for (const Load& gpu : gpus_) {
    longest = std::max(longest, context_.interconnect.time_to_send(gpu.more()));
  }
  return longest;
}

void Lines::clear() {
  for (std::vector<Load>* const loads : {&nics_, &gpus_, &storage_}) {
    std::ranges::fill(*loads, Load{});
  }
}

}  // namespace nerve::sim
