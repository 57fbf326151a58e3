#include "host/peers/peer_memory.h"

#include <algorithm>
#include <utility>

#include "host/peers/unix_socket.h"
#include "host/runtime/clock.h"
#include "link/shm/placement.h"

namespace nerve::host {
namespace {

using link::shm::Placed;
using link::shm::Rights;

Rights rights_of(nic::Access access) {
  Rights rights = Rights::kNone;
  if (contains(access, nic::Access::kRemoteWrite)) rights = rights | Rights::kWrite;
  if (contains(access, nic::Access::kRemoteRead)) rights = rights | Rights::kRead;
  return rights;
}

// Returns where the place is mapped in the other process, if it may be accessed. Called while the
// ring's in-use word announces a placement: the owner revokes a right first and then looks for
// announced placements, so either it sees this one and waits, or we see that the right is gone.
std::optional<link::shm::RightsView::Place> resolve(const OutgoingRing& ring,
                                                    const nic::DirectPath::Place& place,
                                                    std::uint64_t length, Rights need) {
  return ring.rights()->resolve({.target = place.to,
                                 .requester = place.from,
                                 .key = place.key,
                                 .iova = place.address,
                                 .length = length,
                                 .need = need});
}

}  // namespace

// Packets are faster for many small requests, if the target has a CPU to process them at once.
bool PeerMemory::is_better_for(std::uint32_t length) const {
  constexpr std::uint32_t kFewPackets = 16 << 10;
  return poller_sleeps_ || (cpus_contended_ && length >= kFewPackets);
}

bool PeerMemory::write(const Place& place, std::span<const wire::Piece> payload) {
  OutgoingRing* ring = exchange_.ring_to(place.flow.destination, place.to);
  if (ring == nullptr || ring->rights() == nullptr) return false;
  if (payload.size() != 1 || payload[0].port != nullptr) return false;
  const wire::Piece& piece = payload[0];
  const link::shm::Placing placing{ring->in_use()};
  const auto at = resolve(*ring, place, piece.length, Rights::kWrite);
  if (!at || at->copier != 0) return false;
  const Bytes from{reinterpret_cast<const std::byte*>(piece.address), piece.length};
  if (link::shm::place(ring->pid(), at->address, from) != Placed::kDone) return false;
  counters_->bytes_written += piece.length;
  ++counters_->writes;
  return true;
}

bool PeerMemory::read(const Place& place, MutableBytes into) {
  OutgoingRing* ring = exchange_.ring_to(place.flow.destination, place.to);
  if (ring == nullptr || ring->rights() == nullptr) return false;
  const link::shm::Placing placing{ring->in_use()};
  const auto at = resolve(*ring, place, into.size(), Rights::kRead);
  if (!at || at->copier != 0) return false;
  if (link::shm::fetch(ring->pid(), at->address, into) != Placed::kDone) return false;
  counters_->bytes_read += into.size();
  ++counters_->reads;
  return true;
}

// The copier makes the copy after the placement is over. Our rights are looked up and the copy is
// requested within the placement; the target waits for placements and then for the copier.
bool PeerMemory::begin_write(const Place& place, const wire::Piece& from) {
  OutgoingRing* ring = exchange_.ring_to(place.flow.destination, place.to);
  if (ring == nullptr || ring->rights() == nullptr) return false;
  const link::shm::Placing placing{ring->in_use()};
  const auto at = resolve(*ring, place, from.length, Rights::kWrite);
  if (!at || at->copier == 0) return false;
  if (!gpu_.copy(GpuMemory::Direction::kSend, from.address,
                 {.copier = at->copier, .address = at->address}, from.length)) {
    return false;
  }
  counters_->bytes_written += from.length;
  ++counters_->writes;
  return true;
}

bool PeerMemory::begin_read(const Place& place, const wire::Piece& into) {
  OutgoingRing* ring = exchange_.ring_to(place.flow.destination, place.to);
  if (ring == nullptr || ring->rights() == nullptr) return false;
  const link::shm::Placing placing{ring->in_use()};
  const auto at = resolve(*ring, place, into.length, Rights::kRead);
  if (!at || at->copier == 0) return false;
  if (!gpu_.copy(GpuMemory::Direction::kTake, into.address,
                 {.copier = at->copier, .address = at->address}, into.length)) {
    return false;
  }
  counters_->bytes_read += into.length;
  ++counters_->reads;
  return true;
}

void PeerMemory::offer(RKey key, const Region& region) {
  link::shm::KeyRights rights{.iova = region.start,
                              .length = region.length,
                              .address = region.address,
                              .rights = rights_of(region.access),
                              .pd = region.pd.index,
                              .copier = 0};
  if (region.late) {
    const auto shared = gpu_.share(region.address, region.length);
    if (!shared) return withdraw(key);
    rights.address = shared->address;
    rights.copier = shared->copier;
  }
  replace(key, rights);
}

void PeerMemory::withdraw(RKey key) { take_back(key); }

void PeerMemory::offer(Qpn qpn, const Connection& connection) {
  // The peer's QPN identifies its process only on this host.
  if (!exchange_.is_local(connection.flow.destination)) return withdraw(qpn);
  replace(qpn, link::shm::QpRights{.peer = connection.peer,
                                   .rights = rights_of(connection.access),
                                   .pd = connection.pd.index});
}

void PeerMemory::withdraw(Qpn qpn) { take_back(qpn); }

template <class Name>
void PeerMemory::take_back(Name name) {
  // A name that was never published has no placements, which is the case for most QPs and regions.
  if (left_) return;
  {
    const std::scoped_lock guard{first_.publishing_};
    if (!own_.find(name)) return;
    own_.withdraw(name);
  }
  await_placements(name);
}

template <class Name, class Granted>
void PeerMemory::replace(Name name, const Granted& granted) {
  if (left_) return;
  std::optional<Granted> before;
  {
    const std::scoped_lock guard{first_.publishing_};
    before = own_.find(name);
    if (before == granted) return;
    own_.publish(name, granted);
  }
  // Rights may have shrunk: after this wait no placement uses the old ones.
  if (before) await_placements(name);
}

void PeerMemory::await_placements(Qpn /*qpn*/) {
  if (deferring_) {
    withdrawn_ = std::max(withdrawn_, Withdrawn::kQp);
    return;
  }
  std::vector<PendingPlacement> under_way;
  add_placements(under_way);
  wait_for(under_way);
}

// Waits here only for windows, and while windows exist all shards share one lock.
void PeerMemory::await_placements(RKey /*key*/) {
  if (first_.deferring_) {
    first_.withdrawn_ = Withdrawn::kKey;
    return;
  }
  std::vector<PendingPlacement> under_way;
  for (const PeerMemory* one : first_.all_) one->add_placements(under_way);
  wait_for(under_way);
}

void PeerMemory::add_placements(std::vector<PendingPlacement>& to) const {
  for (const std::shared_ptr<IncomingRing>& ring : exchange_.placers()) {
    const auto placement = ring->placement();
    if (placement && !ring->gave_up(placement->number())) to.push_back({ring, *placement});
  }
}

PeerMemory::Withdrawn PeerMemory::end_deferring() {
  deferring_ = false;
  return std::exchange(withdrawn_, Withdrawn::kNothing);
}

void wait_for(std::span<const PendingPlacement> placements) {
  if (placements.empty()) return;
  // For a requester that was stopped in the middle of a placement. The connection shows whether its
  // process is alive: the pid of a killed process exists until its parent reaps it.
  constexpr Duration kPatience = std::chrono::seconds{1};
  const Time give_up = now() + kPatience;
  for (const PendingPlacement& pending : placements) {
    const link::shm::Placement& placement = pending.placement;
    placement.wait([&] { return now() < give_up && is_open(pending.ring->connection()); });
    if (!placement.is_over()) pending.ring->give_up(placement.number());
  }
}

}  // namespace nerve::host
