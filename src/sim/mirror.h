// What rank zero records of the ports and NICs of other ranks. At each sample, and at the end, they
// send what has changed; rank zero writes it into its own copy of the port.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/border.h"
#include "sim/fabric/fabric.h"
#include "sim/host/sim_nic.h"

namespace nerve::sim {

// The fields of a port that results and the diagnosis read.
struct PortFigures {
  std::uint32_t port{};
  std::uint32_t queued{};
  std::uint32_t most_queued{};
  std::uint8_t paused{};
  std::uint8_t waiting{};
  std::array<std::uint32_t, kClasses> credits{};
  Time free_at{};
  std::uint64_t sent_bytes{};
  std::uint64_t sent_packets{};
  Time paused_since{};
  PortCounters counters{};
  friend bool operator==(const PortFigures&, const PortFigures&) = default;
};

class Mirror {
 public:
  Mirror(Border& border, Fabric& fabric, const std::vector<std::unique_ptr<SimNic>>& nics);

  // Each rank calls it, while all parts wait. After it, the longest queues of ports begin anew
  // (Port::most_queued), as after a sample. False if it failed.
  [[nodiscard]] bool update();
  // Null if nothing is known of this node.
  [[nodiscard]] const NicFigures* find(NodeId nic) const {
    return known_[nic.value()] ? &figures_[nic.value()] : nullptr;
  }

 private:
  void send();
  [[nodiscard]] bool receive(const Packed& message);

  Border& border_;
  Fabric& fabric_;
  const std::vector<std::unique_ptr<SimNic>>& nics_;
  // Of those here: what rank zero knows.
  std::vector<PortFigures> sent_ports_;
  std::vector<std::uint32_t> nics_here_;
  std::vector<NicFigures> figures_;  // per node
  std::vector<bool> known_;          // per node
  Packed mine_;
  std::vector<Packed> all_;
};

}  // namespace nerve::sim
