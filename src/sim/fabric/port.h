// One end of a cable: its egress queues, and the credits and pauses it has received.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/prng.h"
#include "sim/core/packet.h"
#include "sim/fabric/graph.h"
#include "sim/fabric/line.h"
#include "sim/fabric/marking.h"

namespace nerve::sim {

// Counters of rare events. What every packet changes is in Port itself.
struct PortCounters {
  std::uint64_t dropped_packets{};  // packets that arrived here and found no room or no route
  std::uint64_t dropped_bytes{};
  std::uint64_t lost_packets{};  // on the cable to this port
  std::uint64_t lost_bytes{};
  std::uint64_t marked_packets{};
  std::uint64_t pauses_sent{};  // to the peer of this port
  std::uint64_t paused_time_ps{};
  std::uint64_t trimmed_packets{};  // that arrived here and lost their payload
  std::uint64_t link_retries{};     // frames repeated on the cable from this port
  std::uint64_t watchdog_trips{};   // pauses that lasted too long (FabricConfig::pfc_watchdog)
  friend bool operator==(const PortCounters&, const PortCounters&) = default;
};

// The packets of one traffic class in order, linked through Packet::next.
struct PacketQueue {
  PacketId head{kNoPacket};
  PacketId tail{kNoPacket};
  std::uint32_t bytes{};

  void push(PacketPool& packets, PacketId id) {
    packets[id].next = kNoPacket;
    if (head == kNoPacket) {
      head = id;
    } else {
      packets[tail].next = id;
    }
    tail = id;
    bytes += packets[id].bytes;
  }
  PacketId pop(PacketPool& packets) {
    const PacketId id = head;
    head = packets[id].next;
    bytes -= packets[id].bytes;
    return id;
  }
};

// The unit of error probabilities: this value means certainty.
inline constexpr std::uint64_t kErrorUnit = 1'000'000'000'000'000;

struct alignas(64) Port {
  static constexpr std::size_t kHot = 128;
  // Used for every packet: two cache lines.
  Line line{};
  Duration delay{};            // propagation along the cable
  Time free_at{};              // when the last byte of the current packet has left
  std::uint64_t sent_bytes{};  // frames without preamble and gap
  NodeId node{};
  PortId peer{kNoPort};
  std::uint32_t switch_number{kNobody};  // kNobody: the node is a NIC
  std::uint32_t local{};                 // index among the ports of its switch
  std::uint32_t queued{};                // bytes of all classes
  std::uint16_t generation{};            // incremented when the cable fails
  std::uint16_t part{};                  // of the simulation
  std::uint8_t paused{};                 // a bit per class
  std::uint8_t waiting{};                // a bit per class with a non-empty queue
  bool awaits_free{};                    // kPortFree is scheduled
  bool to_switch{};                      // the peer is a switch
  LinkKind kind{};
  std::uint8_t network{};  // index of the network's settings
  bool up{true};
  bool special{};  // packets may be damaged (error_chance) or change class (lifts)
  std::array<PacketQueue, kClasses> queues{};
  std::uint64_t sent_packets{};
  std::uint32_t most_queued{};  // since the last sample; since the start if there are no samples
  std::uint16_t peer_part{};

  PortCounters counters{};
  std::array<std::uint32_t, kClasses> credits{};  // bytes
  Rate rate{};
  MarkingThresholds marking{};
  Time paused_since{};
  std::uint64_t error_chance{};  // per received byte, in units of 1/kErrorUnit
  bool lifts{};                  // received data has crossed a cable between groups
  Prng prng{0};                  // which received packets are damaged
  bool lifts_twice{};            // all three data classes have equal priority here
  std::uint8_t dropping{};       // a bit per paused class whose packets the watchdog drops

  // Reads `dropping`, which is cold, only for a paused class.
  [[nodiscard]] bool drops(unsigned traffic_class) const {
    return (paused >> traffic_class & 1U) != 0 && (dropping >> traffic_class & 1U) != 0;
  }
  void push(PacketPool& packets, PacketId id) {
    const unsigned traffic_class = packets[id].traffic_class;
    queues[traffic_class].push(packets, id);
    waiting |= static_cast<std::uint8_t>(1U << traffic_class);
    queued += packets[id].bytes;
    if (queued > most_queued) most_queued = queued;
  }
  // Classes with a packet that is not paused. Lifted and other data have equal priority: when both
  // wait, they alternate.
  [[nodiscard]] unsigned ready() const {
    constexpr unsigned kBoth = 1U << kDataClass | 1U << kLiftedClass;
    constexpr unsigned kTwice = 1U << kTwiceLiftedClass;
    const unsigned all = waiting & ~static_cast<unsigned>(paused);
    if ((all & kTwice) != 0 && lifts_twice) [[unlikely]] {
      return (all & ~(kBoth | kTwice)) | one_in_turn(all & (kBoth | kTwice));
    }
    if ((all & kBoth) != kBoth || sent_packets % 2 == 0) return all;
    return all & ~(1U << kLiftedClass);
  }
  // One of these classes, each time another.
  [[nodiscard]] unsigned one_in_turn(unsigned classes) const {
    const auto count = static_cast<unsigned>(std::popcount(classes));
    for (std::uint64_t skip = sent_packets % count; skip > 0; --skip) {
      classes &= classes - 1;  // without the lowest
    }
    return classes & -classes;
  }
  // The highest class that is ready.
  [[nodiscard]] std::optional<unsigned> turn() const {
    const unsigned classes = ready();
    if (classes == 0) return std::nullopt;
    return static_cast<unsigned>(std::bit_width(classes)) - 1;
  }
  PacketId pop(PacketPool& packets, unsigned traffic_class) {
    PacketQueue& queue = queues[traffic_class];
    const PacketId id = queue.pop(packets);
    if (queue.head == kNoPacket) waiting &= static_cast<std::uint8_t>(~(1U << traffic_class));
    queued -= packets[id].bytes;
    return id;
  }
};
static_assert(offsetof(Port, queues) == 64);
static_assert(offsetof(Port, peer_part) < Port::kHot);

}  // namespace nerve::sim
