// What leaves one part of the simulation for another: events at ports of the other part, and the
// packets that arrive there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/clockwork.h"
#include "sim/core/packing.h"

namespace nerve::sim {

class alignas(64) Outbox {  // no two threads write to one cache line
 public:
  void add(Time when, Happening kind, std::uint32_t subject, std::uint32_t argument) {
    events_.push_back({when, subject, argument, kind});
  }
  // Takes the packet out of the pool that it is in.
  void add_packet(Time when, std::uint32_t port, Clockwork& from, PacketId id) {
    add(when, Happening::kArrive, port, static_cast<std::uint32_t>(packets_.size()));
    packets_.push_back(from.packets[id]);
    if (from.packets.has_trails()) trails_.push_back(from.packets.trail(id));
    from.packets.give_back(id);
  }

  // True if there was something.
  bool empty_into(Clockwork& to) {
    if (events_.empty()) return false;
    for (const Due& event : events_) {
      const bool arrives = event.kind == Happening::kArrive;
      const std::uint32_t argument = arrives ? place(to, event.argument).value() : event.argument;
      to.wheel.at(event.when, event.kind, event.subject, argument);
    }
    clear();
    return true;
  }

  // For a part in another process.
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] Time first() const {
    return std::ranges::min_element(events_, {}, &Due::when)->when;
  }
  void pack(Packer& to) {
    to.put_all(events_);
    to.put_all(packets_);
    to.put_all(trails_);
    clear();
  }
  // `adopt` is called with each packet, which holds a pointer of that process (Piece::port). False
  // if it makes no sense.
  template <class Adopt>
  [[nodiscard]] bool unpack(Unpacker& from, std::size_t ports, Adopt adopt) {
    from.take_all(events_);
    from.take_all(packets_);
    from.take_all(trails_);
    for (Packet& packet : packets_) adopt(packet);
    if (!trails_.empty() && trails_.size() != packets_.size()) return false;
    for (const Due& event : events_) {
      if (event.subject >= ports) return false;
      if (event.kind == Happening::kArrive && event.argument >= packets_.size()) return false;
    }
    return from.intact();
  }

 private:
  using Due = Event<Happening>;

  void clear() {
    events_.clear();
    packets_.clear();
    trails_.clear();
  }
  PacketId place(Clockwork& to, std::uint32_t number) {
    const PacketId id = to.packets.take();
    Packet& packet = to.packets[id];
    std::construct_at(&packet, packets_[number]);
    if (to.packets.has_trails()) to.packets.trail(id) = trails_[number];
    return id;
  }

  std::vector<Due> events_;
  std::vector<Packet> packets_;  // of the events of kind kArrive, in order
  std::vector<Trail> trails_;    // of the packets, if switches write telemetry
};

}  // namespace nerve::sim
