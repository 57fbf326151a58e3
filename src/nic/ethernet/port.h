// The Ethernet subsystem's port: its addresses, its partitions, and which frames are meant for it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "nic/address.h"
#include "nic/config.h"
#include "nic/cq_manager/event_queue.h"
#include "nic/error.h"
#include "wire/frame.h"

namespace nerve::nic {

class Port {
 public:
  Port(const NicConfig& config, EventQueue& events);

  Status set_gid(std::uint32_t index, const wire::Gid& gid);
  [[nodiscard]] Expected<wire::Gid> gid(std::uint32_t index) const;
  [[nodiscard]] bool owns(const wire::Gid& gid) const;

  void set_active(bool active);
  [[nodiscard]] bool active() const { return active_; }

  [[nodiscard]] std::optional<PKey> pkey(std::uint32_t index) const;
  // The table entry that a received P_Key matches: equal partition, and not two limited members
  // (IBTA 10.9.3).
  [[nodiscard]] std::optional<std::uint16_t> match_pkey(PKey received) const;
  [[nodiscard]] static bool same_partition(PKey mine, PKey theirs) {
    constexpr unsigned kFullMember = 0x8000;
    constexpr unsigned kPartition = 0x7fff;
    const unsigned a = mine.value();
    const unsigned b = theirs.value();
    return ((a ^ b) & kPartition) == 0 && (a & kPartition) != 0 && ((a | b) & kFullMember) != 0;
  }

  // Refused when the address names no GID of ours or lacks its own.
  [[nodiscard]] Expected<wire::Flow> flow_to(const AddressVector& address) const;

 private:
  EventQueue& events_;
  std::vector<wire::Gid> gids_;
  std::vector<PKey> pkeys_;
  bool active_{true};
};

// The UDP source port by which switches spread flows: from the flow label where one is given,
// else from the two QPNs, the same in both directions; for datagrams from the sender's QPN. These
// are the functions Linux uses, so that captures of either look alike.
[[nodiscard]] std::uint16_t source_port(std::uint32_t flow_label, Qpn local, Qpn remote);
[[nodiscard]] std::uint16_t datagram_source_port(Qpn local);

}  // namespace nerve::nic
