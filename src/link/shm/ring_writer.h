// The sending end of a ring (ring_layout.h). It never blocks: a frame that does not fit is dropped
// and counted, as in a switch, and the protocol retransmits it. A caller that must not lose frames
// asks for a grant() first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "link/link.h"
#include "link/shm/doorbell.h"
#include "link/shm/ring_layout.h"

namespace nerve::link::shm {

struct RingWriterCounters {
  std::uint64_t frames{};   // including packets sent as bytes
  std::uint64_t bytes{};    // of payload
  std::uint64_t dropped{};  // no room, or larger than a ring accepts
  std::uint64_t wakes{};
};

class RingWriter final : public Egress {
 public:
  // `memory` is a fresh ring of that size; it must outlive the writer.
  RingWriter(MutableBytes memory, const RingSize& size, const Doorbell& doorbell = {});

  void send(std::span<const wire::Frame> frames, Time now) override;
  void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) override;

  // How many frames of the largest size certainly fit: in an empty ring, and now.
  [[nodiscard]] std::uint32_t capacity() const { return data_bytes_ / kMaxSpan; }
  [[nodiscard]] std::uint32_t room();
  // Reserves room for up to `wanted` frames and returns for how many. Grants add up until
  // take_back_grants(), which every send calls.
  [[nodiscard]] std::uint32_t grant(std::uint32_t wanted);
  // The same for one frame without payload, which may use the reserved slots.
  [[nodiscard]] bool grant_bare();
  void take_back_grants() { granted_ = granted_bare_ = 0; }
  void give_back(std::uint32_t unused) { granted_ -= std::min(unused, granted_); }

  // True after the reader has reported something impossible. Nothing more is written then.
  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] const RingWriterCounters& counters() const { return counters_; }

 private:
  struct FlowSlot {
    std::uint8_t index{};
    bool announced{};
  };
  [[nodiscard]] FlowSlot find_flow(const wire::Flow& flow) const;
  void announce_flow(std::uint8_t index, const wire::Flow& flow);

  void put(const wire::Frame& frame);
  // Writes the run at the beginning of `frames` into one slot. Returns its number of frames: zero
  // if there is no run, or no room.
  [[nodiscard]] std::size_t put_run(std::span<const wire::Frame> frames);
  [[nodiscard]] bool fits(std::uint32_t slots, std::uint32_t data_length);
  void look_at_reader();
  [[nodiscard]] std::uint32_t room_as_known() const;
  [[nodiscard]] std::uint64_t free_slots() const { return slot_count_ - (head_ - slots_done_); }

  // A slot is begun, filled and sealed. It becomes visible when it is published, at the latest at
  // the end of the send.
  [[nodiscard]] std::byte* begin_slot();
  [[nodiscard]] std::byte* payload_place(std::byte* slot, std::size_t used, std::uint32_t length);
  void seal_slot(SlotKind kind, std::uint8_t flow, std::uint32_t length, std::uint32_t frames = 1);
  template <std::memory_order order>
  void publish();
  void finish();

  std::byte* header_;
  std::byte* slots_;
  std::byte* data_;
  std::uint32_t slot_count_;
  std::uint32_t data_bytes_;
  Doorbell doorbell_;

  std::uint64_t head_{};  // slots ever written
  DataCursor cursor_;
  std::uint64_t slots_done_{};  // as last reported by the reader
  std::uint64_t data_done_{};
  std::uint64_t sealed_{};  // the commit word of the slot before head_; zero if it is stored
  std::uint32_t granted_{};
  std::uint32_t granted_bare_{};
  bool broken_{};
  struct KnownFlow {
    wire::Flow flow;
    bool announced{};
  };
  std::array<KnownFlow, kFlows> flows_{};
  std::uint8_t last_flow_{};
  RingWriterCounters counters_;
};

}  // namespace nerve::link::shm
