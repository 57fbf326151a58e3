// The short cut between processes of one host: small WRITEs and READs that the requester carries
// out itself, in the memory of the other process, within the rights that process has published.
#pragma once

#include "host/exchange.h"
#include "link/shm/rights_table.h"
#include "nic/short_cut.h"

namespace nerve::host {

class NeighbourMemory final : public nic::ShortCut {
 public:
  NeighbourMemory(Exchange& exchange, link::shm::RightsPublisher& own)
      : exchange_{exchange}, own_{own} {}

  bool write(const Place& place, std::span<const wire::Piece> payload) override;
  bool read(const Place& place, MutableOctets into) override;

  void offer(RKey key, const Region& region) override;
  void withdraw(RKey key) override;
  void offer(Qpn qpn, const Connection& connection) override;
  void withdraw(Qpn qpn) override;

  // What is published is another process's now (host.h).
  void leave() { left_ = true; }

  // What was written and read in this way, and how often.
  [[nodiscard]] std::uint64_t octets() const { return octets_; }
  [[nodiscard]] std::uint64_t times() const { return times_; }

 private:
  template <class Name, class Granted>
  void replace(Name name, const Granted& granted);
  void wait_for_placements() const;

  Exchange& exchange_;
  link::shm::RightsPublisher& own_;
  std::uint64_t octets_{};
  bool left_{};
  std::uint64_t times_{};
};

}  // namespace nerve::host
