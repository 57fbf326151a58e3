// A packet in flight, and the pool that holds all packets of a simulation.
//
// Switches use only the first half, which is one cache line. The second half holds the frame as the
// sending engine built it; it is never serialised. TCP hosts store their header there instead.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "sim/core/ids.h"
#include "sim/core/tcp_segment.h"
#include "wire/frame.h"

namespace nerve::sim {

// Traffic classes: Ethernet priorities or InfiniBand virtual lanes. AI fabrics use two or three;
// each one adds to the cache footprint of every port.
inline constexpr unsigned kClasses = 4;
inline constexpr unsigned kDataClass = 1;
// Data that has crossed a cable between groups (Cable::between_groups).
inline constexpr unsigned kLiftedClass = 2;
// Data that has crossed two of them, with Valiant routing. TCP, which uses this class, is not
// routed so.
inline constexpr unsigned kTwiceLiftedClass = 0;

inline constexpr std::uint32_t kEthernetBytes = 14 + 4;  // the header and the CRC

// It travels to other processes as bytes (Outbox). The only pointer that the receiving NIC would
// follow is that of the piece.
struct alignas(64) Packet {
  PacketId next{kNoPacket};    // in the queue that holds it
  NodeId destination{};        // a NIC
  PortId ingress{kNoPort};     // the port at which it entered the current switch
  std::uint32_t bytes{};       // in a buffer: from the first header to the last CRC
  std::uint32_t flow_hash{};   // equal for all packets whose order must be kept
  std::uint32_t generation{};  // of its cable when it was sent: a later failure loses it
  std::uint8_t traffic_class{};
  std::uint8_t ingress_class{};  // its class when it entered the current switch
  std::uint8_t hops{};
  bool may_be_marked{};
  bool collects{};  // switches add telemetry to its trail
  bool marked{};    // congestion experienced

  union {  // the sender chooses; the receiver is of the same kind
    wire::Frame frame{};
    TcpSegment segment;
  };
  wire::Piece piece{};  // the payload of the frame, which refers to it only when it has arrived
};
static_assert(std::is_trivially_copyable_v<wire::Frame>);
static_assert(sizeof(TcpSegment) <= sizeof(wire::Frame));
static_assert(std::is_trivially_copyable_v<Packet>);

// The telemetry collected by a packet on its path, or returned by an ACK.
struct Trail {
  static constexpr std::uint8_t kMost = 8;
  std::array<wire::HopTelemetry, kMost> hops{};
  std::uint8_t count{};

  void add(const wire::HopTelemetry& hop) {
    if (count < kMost) hops[count++] = hop;
  }
};

class PacketPool {
 public:
  [[nodiscard]] Packet& operator[](PacketId id) {
    return chunks_[id.value() / kChunk][id.value() % kChunk];
  }

  // Exists only if a switch writes telemetry: one trail per packet.
  [[nodiscard]] Trail& trail(PacketId id) { return trails_[id.value()]; }
  void keep_trails() {
    has_trails_ = true;
    trails_.resize(chunks_.size() * kChunk);
  }
  [[nodiscard]] bool has_trails() const { return has_trails_; }

  PacketId take() {
    if (free_.empty()) grow();
    const PacketId id = free_.back();
    free_.pop_back();
    ++in_use_;
    return id;
  }
  void give_back(PacketId id) {
    CHECK(in_use_ > 0);
    --in_use_;
    free_.push_back(id);
  }
  [[nodiscard]] std::size_t in_use() const { return in_use_; }
  [[nodiscard]] std::size_t bytes() const { return chunks_.size() * kChunk * sizeof(Packet); }

 private:
  // Chunks keep addresses stable: a packet may be created while another is in use.
  static constexpr std::uint32_t kChunk = 1024;

  void grow() {
    const auto first = static_cast<std::uint32_t>(chunks_.size()) * kChunk;
    chunks_.push_back(std::make_unique<Packet[]>(kChunk));
    if (has_trails_) trails_.resize(chunks_.size() * kChunk);
    for (std::uint32_t i = kChunk; i > 0; --i) free_.push_back(PacketId{first + i - 1});
  }

  std::vector<std::unique_ptr<Packet[]>> chunks_;
  std::vector<PacketId> free_;
  std::vector<Trail> trails_;
  bool has_trails_{};
  std::size_t in_use_{};
};

}  // namespace nerve::sim
