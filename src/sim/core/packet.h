// A packet on its way, and the pool that all packets of a simulation come from.
//
// Switches look at the first half alone, which is one cache line; engines at the second, which is
// what the sending engine made and is never serialised. TCP hosts have their header there instead.
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

// Traffic classes: priorities of Ethernet, virtual lanes of InfiniBand. Fabrics that carry AI use
// two or three; each costs every port room in the cache.
inline constexpr unsigned kClasses = 4;
inline constexpr unsigned kDataClass = 1;
// Data that has crossed a cable between groups (Cable::between_groups).
inline constexpr unsigned kLiftedClass = 2;

inline constexpr std::uint32_t kEthernetBytes = 14 + 4;  // the header and the CRC

struct alignas(64) Packet {
  PacketId next{kNoPacket};    // in the queue where it waits
  NodeId destination{};        // the NIC that it is for
  PortId ingress{kNoPort};     // by which it entered the switch where it is
  std::uint32_t bytes{};       // as it lies in a buffer: from the first header to the last CRC
  std::uint32_t flow_hash{};   // the same for all packets that must keep their order
  std::uint32_t generation{};  // of the cable that it is on: a cable that failed lost it
  std::uint8_t traffic_class{};
  std::uint8_t ingress_class{};  // in which it entered the switch where it is
  std::uint8_t hops{};
  bool may_be_marked{};
  bool collects{};  // switches write into its trail
  bool marked{};    // congestion experienced

  union {  // whoever sends it says which, and its receiver is of the same kind
    wire::Frame frame{};
    TcpSegment segment;
  };
  wire::Piece piece{};  // what the frame's payload refers to
};
static_assert(std::is_trivially_destructible_v<wire::Frame>);
static_assert(sizeof(TcpSegment) <= sizeof(wire::Frame));

// What the switches on its way have told a packet, or what an ACK takes back.
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

  // Of simulations whose switches tell: as many as there are packets, elsewhere none.
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
  static constexpr std::uint32_t kChunk =
      1024;  // addresses stay: a packet may be made while another is read

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
