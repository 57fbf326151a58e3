// What a NIC's hardware costs: time for each packet and work request, fetches of what its caches do
// not hold, and transfers over PCIe.
//
//   sending    engine ─► pipeline ─► QP context, page ─► payload from memory ─► port
//   receiving  port ─► pipeline ─► QP context, page ─► payload into memory ─► engine
//
// Both directions have a pipeline of their own and share the caches. A fetch is a DMA read; several
// run at once, and a packet that needs one when all are running waits. Packets of one direction
// stay in order: those behind a packet that waits for a fetch wait too, but begin their own
// meanwhile.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/rate.h"
#include "base/time.h"
#include "sim/core/ids.h"
#include "sim/scenario/host_spec.h"

namespace nerve::sim {

// One PCIe link; NICs behind one PCIe switch share it.
struct PcieLink {
  Rate rate{};  // per direction
  Time reads_until{};
  Time writes_until{};
};

// A cache with ways of which the least recently used is replaced. Size zero: it holds everything.
class NicCache {
 public:
  explicit NicCache(std::uint32_t entries);

  // When the entry is here; none if it has to be fetched. Then call fetched().
  [[nodiscard]] bool finds(std::uint64_t key, Time& ready);
  void fetched(std::uint64_t key, Time ready);
  [[nodiscard]] std::uint64_t lookups() const { return lookups_; }
  [[nodiscard]] std::uint64_t misses() const { return misses_; }

 private:
  struct Entry {
    std::uint64_t key{UINT64_MAX};
    Time ready{};
    std::uint64_t used{};  // the number of the lookup
  };
  [[nodiscard]] std::uint64_t first_way(std::uint64_t key) const;

  std::vector<Entry> entries_;
  std::uint64_t lookups_{};
  std::uint64_t misses_{};
};

class NicHardware {
 public:
  // A packet as the hardware sees it. ACKs have no payload.
  struct Work {
    Qpn qp{};                 // of this NIC
    std::uint64_t address{};  // of its payload, in the buffer of the QP
    std::uint32_t payload{};
    std::uint32_t bytes{};  // on the cable
    bool begins_request{};  // the first packet of a work request
  };

  // `shared` is null if the NIC has a PCIe link of its own, which is then as fast as its cables.
  NicHardware(const NicHardwareSpec& spec, Rate line, PcieLink* shared);

  // A QP of this NIC, and the one that it is connected to.
  void connect(Qpn mine, NodeId peer, Qpn theirs);
  [[nodiscard]] Qpn qp_towards(NodeId peer, Qpn theirs) const;

  // When the pipeline takes the next packet to send.
  [[nodiscard]] Time takes_next() const;
  // Takes a packet; returns when it reaches the port.
  [[nodiscard]] Time send(const Work& work, Time now);
  // Takes a packet from the port; returns when the engine gets it.
  [[nodiscard]] Time receive(const Work& work, Time now);

  // The receive buffer. Returns false if the packet finds no room.
  [[nodiscard]] bool admit(std::uint32_t bytes);
  void release(std::uint32_t bytes) { held_ -= bytes; }
  // Whether a NIC on a lossless network should begin or end to pause its switch. Each says so once.
  [[nodiscard]] bool begins_pause();
  [[nodiscard]] bool ends_pause();

  [[nodiscard]] const NicCache& contexts() const { return contexts_; }
  [[nodiscard]] const NicCache& pages() const { return pages_; }

 private:
  // When the NIC knows what it needs for a packet.
  [[nodiscard]] Time look_up(const Work& work, Time now);
  [[nodiscard]] Time find(NicCache& cache, std::uint64_t key, Time now);
  [[nodiscard]] Time fetch(Time now);
  [[nodiscard]] Time transfer(Time& busy_until, std::uint32_t bytes, Time now) const;

  NicHardwareSpec spec_;
  Rate line_;
  PcieLink* shared_;
  NicCache contexts_;
  NicCache pages_;
  std::vector<Time> fetches_;  // when each ends
  std::unordered_map<std::uint64_t, Qpn> qps_;
  Time sending_until_{};
  Time last_read_{};  // the end of the last payload read from memory
  Time last_sent_{};
  Time receiving_until_{};
  Time last_received_{};
  std::uint64_t held_{};  // bytes in the receive buffer
  bool pauses_{};
};

}  // namespace nerve::sim
