// The port: its addresses, its partitions, and the frames addressed to it.
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
  // The table entry that matches a received P_Key: same partition, and not both limited members
  // (IBTA 10.9.3).
  [[nodiscard]] std::optional<std::uint16_t> match_pkey(PKey received) const;
  [[nodiscard]] static bool same_partition(PKey mine, PKey theirs) {
    constexpr unsigned kFullMember = 0x8000;
    constexpr unsigned kPartition = 0x7fff;
    const unsigned a = mine.value();
    const unsigned b = theirs.value();
    return ((a ^ b) & kPartition) == 0 && (a & kPartition) != 0 && ((a | b) & kFullMember) != 0;
  }

  // Fails when the source GID index is empty or the destination is missing.
  [[nodiscard]] Expected<wire::Flow> flow_to(const AddressVector& address) const;

 private:
  EventQueue& events_;
  std::vector<wire::Gid> gids_;
  std::vector<PKey> pkeys_;
  bool active_{true};
};

// The UDP source port, with which switches spread flows: derived from the flow label if there is
// one, else from the two QPNs, identical in both directions; for datagrams from the sender's QPN.
// Linux uses the same functions, so that captures of both look alike.
[[nodiscard]] std::uint16_t source_port(std::uint32_t flow_label, Qpn local, Qpn remote);
[[nodiscard]] std::uint16_t datagram_source_port(Qpn local);
// A flow label that gives this source port, whatever the QPNs are. Nothing if none does: the port
// is below kFirstSourcePort.
inline constexpr std::uint16_t kFirstSourcePort = 0xc000;
[[nodiscard]] std::optional<std::uint32_t> flow_label_for(std::uint16_t source_port);

}  // namespace nerve::nic
