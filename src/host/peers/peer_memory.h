// The direct path between processes of one host: small WRITEs and READs that the requester carries
// out itself, in the memory of the other process, within the rights that process has published.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "host/network/exchange.h"
#include "link/shm/in_use.h"
#include "link/shm/rights_table.h"
#include "nic/direct_path.h"

namespace nerve::host {

// A placement in our memory that may have begun before a right was withdrawn. Keeps its ring.
struct PendingPlacement {
  std::shared_ptr<IncomingRing> ring;
  link::shm::Placement placement;
};
void wait_for(std::span<const PendingPlacement> placements);

class PeerMemory final : public nic::DirectPath {
 public:
  // One for each shard; all publish in one table. `first` is the primary shard's.
  PeerMemory(Exchange& exchange, link::shm::RightsPublisher& own, PeerMemory* first = nullptr)
      : exchange_{exchange}, own_{own}, first_{first != nullptr ? *first : *this} {
    first_.all_.push_back(this);
  }

  bool write(const Place& place, std::span<const wire::Piece> payload) override;
  bool read(const Place& place, MutableBytes into) override;
  [[nodiscard]] bool is_better_for(std::uint32_t length) const override;
  void set_cpus_contended(bool contended) { cpus_contended_ = contended; }
  // A thread that polls for others sleeps until something completes.
  void set_poller_sleeps(bool sleeps) { poller_sleeps_ = sleeps; }

  void offer(RKey key, const Region& region) override;
  void withdraw(RKey key) override;
  void offer(Qpn qpn, const Connection& connection) override;
  void withdraw(Qpn qpn) override;

  // Between these two calls, rights that are withdrawn leave placements behind that may still be
  // under way; the caller waits for them, without the lock, before it believes the rights gone:
  // those of a key in all shards, those of a QP in its own. Otherwise they are waited for at once,
  // with the lock held: that is how a request that takes rights back completes only after the last
  // placement.
  enum class Withdrawn : std::uint8_t { kNothing, kQp, kKey };
  void begin_deferring() { deferring_ = true; }
  [[nodiscard]] Withdrawn end_deferring();
  // That other processes have begun, through the rings of this shard.
  void add_placements(std::vector<PendingPlacement>& to) const;

  // What is published is another process's now (host.h).
  void leave() { left_ = true; }

  // What was written and read in this way, and how often.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t times() const { return times_; }

 private:
  template <class Name, class Granted>
  void replace(Name name, const Granted& granted);
  template <class Name>
  void take_back(Name name);
  // A key is used through the rings of all shards, a QP through those of its own.
  void await_placements(RKey);
  void await_placements(Qpn);

  Exchange& exchange_;
  link::shm::RightsPublisher& own_;
  PeerMemory& first_;
  std::vector<PeerMemory*> all_;  // of the first; changed with all locks held
  std::mutex publishing_;         // of the first: QPs of several shards may publish at once
  std::uint64_t bytes_{};
  bool left_{};
  bool deferring_{};
  Withdrawn withdrawn_{};
  bool cpus_contended_{};
  bool poller_sleeps_{};
  std::uint64_t times_{};
};

}  // namespace nerve::host
