// One end of a cable: what waits there to be sent, and what the other end has told it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/core/packet.h"
#include "sim/fabric/graph.h"
#include "sim/fabric/line.h"

namespace nerve::sim {

// What seldom happens; what every packet changes is in the port itself.
struct PortCounters {
  std::uint64_t dropped_packets{};  // that came in here and found no room or no way
  std::uint64_t dropped_bytes{};
  std::uint64_t lost_packets{};  // on the cable to here
  std::uint64_t lost_bytes{};
  std::uint64_t marked_packets{};
  std::uint64_t pauses_sent{};  // to whoever sends to this port
  std::uint64_t paused_time_ps{};
};

// Packets of one traffic class, in order; linked through the packets themselves.
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

// Of a sum that is certain.
inline constexpr std::uint64_t kErrorUnit = 1'000'000'000'000'000;

struct alignas(64) Port {
  static constexpr std::size_t kHot = 128;
  // What every packet touches, in two cache lines.
  Line line{};
  Duration delay{};            // from one end of the cable to the other
  Time free_at{};              // when the last byte of what is being sent has left
  std::uint64_t sent_bytes{};  // frames alone, without preambles and gaps
  NodeId node{};
  PortId peer{kNoPort};
  std::uint32_t switch_number{kNobody};  // nobody: the node is a NIC
  std::uint32_t local{};                 // its number at its switch
  std::uint32_t queued{};                // bytes of all classes
  std::uint32_t generation{};            // grows when the cable fails
  std::uint8_t paused{};                 // classes, one bit each
  std::uint8_t waiting{};                // classes whose queue is not empty
  bool awaits_free{};                    // kPortFree is on its way
  bool to_switch{};                      // the other end is one
  LinkKind kind{};
  std::uint8_t network{};  // whose settings its switch has
  bool up{true};
  bool special{};  // what comes in may be damaged or change its class: see below
  std::array<PacketQueue, kClasses> queues{};
  std::uint64_t sent_packets{};
  std::uint32_t most_queued{};  // since the last sample; ever, when none are taken

  PortCounters counters{};
  std::array<std::uint32_t, kClasses> credits{};  // bytes that the other end has room for
  Rate rate{};
  Time paused_since{};
  std::uint64_t error_chance{};  // of a byte that comes in, in kErrorUnit; zero: never
  bool lifts{};                  // what comes in has crossed from one group to another

  void push(PacketPool& packets, PacketId id) {
    const unsigned traffic_class = packets[id].traffic_class;
    queues[traffic_class].push(packets, id);
    waiting |= static_cast<std::uint8_t>(1U << traffic_class);
    queued += packets[id].bytes;
    if (queued > most_queued) most_queued = queued;
  }
  // Classes that wait and may be sent. Data that was lifted and data that was not are one class to
  // whoever sent them: when both wait, they take turns.
  [[nodiscard]] unsigned ready() const {
    constexpr unsigned kBoth = 1U << kDataClass | 1U << kLiftedClass;
    const unsigned all = waiting & ~static_cast<unsigned>(paused);
    if ((all & kBoth) != kBoth || sent_packets % 2 == 0) return all;
    return all & ~(1U << kLiftedClass);
  }
  // The class whose turn it is: the highest.
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
static_assert(offsetof(Port, most_queued) < Port::kHot);

}  // namespace nerve::sim
