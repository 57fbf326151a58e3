#include "sim/host/nic_hardware.h"

#include <algorithm>

#include "sim/fabric/path_choice.h"

namespace nerve::sim {
namespace {

constexpr std::uint32_t kWays = 8;
constexpr unsigned kPageBits = 40;  // of the number of a page in a QP's buffer

std::uint64_t key_of(NodeId peer, Qpn theirs) {
  return std::uint64_t{peer.value()} << 32U | theirs.value();
}

}  // namespace

NicCache::NicCache(std::uint32_t entries) : entries_((entries + kWays - 1) / kWays * kWays) {}

std::uint64_t NicCache::first_way(std::uint64_t key) const {
  const std::uint32_t hash =
      mix(static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U));
  return hash % (entries_.size() / kWays) * kWays;
}

bool NicCache::finds(std::uint64_t key, Time& ready) {
  ++lookups_;
  if (entries_.empty()) return true;
  const std::uint64_t first = first_way(key);
  for (std::uint64_t i = first; i < first + kWays; ++i) {
    Entry& entry = entries_[i];
    if (entry.key != key) continue;
    entry.used = lookups_;
    ready = std::max(ready, entry.ready);
    return true;
  }
  ++misses_;
  return false;
}

void NicCache::fetched(std::uint64_t key, Time ready) {
  const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(first_way(key));
  *std::min_element(first, first + kWays, [](const Entry& a, const Entry& b) {
    return a.used < b.used;
  }) = {key, ready, lookups_};
}

NicHardware::NicHardware(const NicHardwareSpec& spec, Rate line, PcieLink* shared)
    : spec_{spec},
      line_{line},
      shared_{shared},
      contexts_{spec.cached_qps},
      pages_{spec.cached_pages},
      fetches_(spec.fetches) {}

void NicHardware::connect(Qpn mine, NodeId peer, Qpn theirs) { qps_[key_of(peer, theirs)] = mine; }

Qpn NicHardware::qp_towards(NodeId peer, Qpn theirs) const {
  const auto found = qps_.find(key_of(peer, theirs));
  return found == qps_.end() ? Qpn{} : found->second;
}

Time NicHardware::takes_next() const {
  return std::max({sending_until_, last_read_, std::ranges::min(fetches_)});
}

Time NicHardware::fetch(Time now) {
  Time& free = *std::ranges::min_element(fetches_);
  free = std::max(now, free) + spec_.dma_read;
  return free;
}

Time NicHardware::find(NicCache& cache, std::uint64_t key, Time now) {
  Time ready = now;
  if (cache.finds(key, ready)) return ready;
  ready = fetch(now);
  cache.fetched(key, ready);
  return ready;
}

Time NicHardware::look_up(const Work& work, Time now) {
  const Time context = find(contexts_, work.qp.value(), now);
  if (work.payload == 0) return context;
  const std::uint64_t page = work.address / spec_.page % (std::uint64_t{1} << kPageBits);
  return find(pages_, std::uint64_t{work.qp.value()} << kPageBits | page, context);
}

// A transfer takes its turn when its packet comes, so that a packet that waits for a fetch does not
// keep the link from others.
Time NicHardware::transfer(Time& busy_until, std::uint32_t bytes, Time now) const {
  busy_until = std::max(busy_until, now) + shared_->rate.time_to_send(bytes);
  return busy_until;
}

Time NicHardware::send(const Work& work, Time now) {
  const Time begins = std::max(now, sending_until_);
  const Duration takes = spec_.per_packet + (work.begins_request ? spec_.per_wqe : Duration{});
  sending_until_ = begins + std::max(takes, line_.time_to_send(work.bytes));
  Time there = std::max(begins + takes, look_up(work, begins));
  if (work.payload > 0) {
    if (shared_ != nullptr) {
      last_read_ = transfer(shared_->reads_until, work.payload, begins);
      there = std::max(there, last_read_);
    }
    there += spec_.dma_read;
  }
  last_sent_ = std::max(last_sent_, there);
  return last_sent_;
}

Time NicHardware::receive(const Work& work, Time now) {
  const Time begins = std::max(now, receiving_until_);
  receiving_until_ = begins + spec_.per_packet;
  Time there = std::max(receiving_until_, look_up(work, begins));
  if (shared_ != nullptr && work.payload > 0) {
    there = std::max(there, transfer(shared_->writes_until, work.payload, begins));
  }
  last_received_ = std::max(last_received_, there);
  return last_received_;
}

bool NicHardware::admit(std::uint32_t bytes) {
  if (held_ + bytes > spec_.receive_buffer) return false;
  held_ += bytes;
  return true;
}

bool NicHardware::begins_pause() {
  if (pauses_ || held_ <= spec_.receive_buffer / 2) return false;
  return pauses_ = true;
}

bool NicHardware::ends_pause() {
  if (!pauses_ || held_ > spec_.receive_buffer / 4) return false;
  pauses_ = false;
  return true;
}

}  // namespace nerve::sim
