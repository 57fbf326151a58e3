// The direct path between processes of one host: the requester executes WRITEs and READs
// itself, in the memory of the other process, within the rights that process has published.
//
// It saves the target's CPU: no packet is built, and no thread of the target has to run before the
// request completes. The price is revocation. A right cannot be taken back while a requester may be
// copying, so each copy is announced in shared memory (link/shm/in_use.h), and deregistration waits
// for announced copies.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "host/gpu/gpu_memory.h"
#include "host/network/exchange.h"
#include "host/peers/statistics_layout.h"
#include "link/shm/in_use.h"
#include "link/shm/rights_table.h"
#include "nic/direct_path.h"

namespace nerve::host {

// A placement in our memory that may have begun before a right was revoked. Keeps its ring alive.
struct PendingPlacement {
  std::shared_ptr<IncomingRing> ring;
  link::shm::Placement placement;
};
void wait_for(std::span<const PendingPlacement> placements);

class PeerMemory final : public nic::DirectPath {
 public:
  // One for each shard; all publish in one table. `first` is the primary shard's.
  PeerMemory(Exchange& exchange, link::shm::RightsPublisher& own, GpuMemory& gpu,
             PeerMemory* first = nullptr)
      : exchange_{exchange}, own_{own}, gpu_{gpu}, first_{first != nullptr ? *first : *this} {
    first_.all_.push_back(this);
  }

  bool write(const Place& place, std::span<const wire::Piece> payload) override;
  bool read(const Place& place, MutableBytes into) override;
  bool begin_write(const Place& place, const wire::Piece& from) override;
  bool begin_read(const Place& place, const wire::Piece& into) override;
  [[nodiscard]] bool is_better_for(std::uint32_t length) const override;
  void set_cpus_contended(bool contended) { cpus_contended_ = contended; }
  // True while a thread that polls on behalf of others sleeps until something completes.
  void set_poller_sleeps(bool sleeps) { poller_sleeps_ = sleeps; }

  void offer(RKey key, const Region& region) override;
  void withdraw(RKey key) override;
  void offer(Qpn qpn, const Connection& connection) override;
  void withdraw(Qpn qpn) override;

  // Between these two calls, revoking a right does not wait for placements under way. The caller
  // waits for them afterwards, without the lock, before it treats the right as gone: for a key in
  // all shards, for a QP in its own. Outside of such a pair, revoking waits at once, with the lock
  // held, so that a request that revokes rights completes only after the last placement.
  enum class Withdrawn : std::uint8_t { kNothing, kQp, kKey };
  void begin_deferring() { deferring_ = true; }
  [[nodiscard]] Withdrawn end_deferring();
  // Afterwards, no copy that a peer has told the GPU copier to make uses the rights either.
  void settle_copies() { gpu_.settle(); }
  // Adds the placements that other processes have begun through the rings of this shard.
  void add_placements(std::vector<PendingPlacement>& to) const;

  // The published table belongs to the parent process now (host.h).
  void leave() { left_ = true; }

  // Counts the requests and bytes of the direct path there from now on.
  void count_in(DirectCounters& counters) { counters_ = &counters; }
  void stop_counting() { counters_ = &unused_; }

 private:
  template <class Name, class Granted>
  void replace(Name name, const Granted& granted);
  template <class Name>
  void take_back(Name name);
  // A key is used through the rings of all shards, a QP through those of its own shard.
  void await_placements(RKey);
  void await_placements(Qpn);

  Exchange& exchange_;
  link::shm::RightsPublisher& own_;
  GpuMemory& gpu_;
  PeerMemory& first_;
  std::vector<PeerMemory*> all_;  // only in the first; changed with all locks held
  std::mutex publishing_;         // only in the first: QPs of several shards may publish at once
  DirectCounters unused_;         // until the device that this serves is open
  DirectCounters* counters_{&unused_};
  bool left_{};
  bool deferring_{};
  Withdrawn withdrawn_{};
  bool cpus_contended_{};
  bool poller_sleeps_{};
};

}  // namespace nerve::host
