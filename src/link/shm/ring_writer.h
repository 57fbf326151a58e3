// The sending end of a ring (ring_layout.h). It never waits: what does not fit is dropped and
// counted, as a switch would, and the protocol repairs it. Who wants to lose nothing asks for
// grant() frames first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "link/link.h"
#include "link/shm/doorbell.h"
#include "link/shm/ring_layout.h"

namespace nerve::link::shm {

struct RingWriterCounters {
  std::uint64_t frames{};   // bytes records included
  std::uint64_t bytes{};    // of payload
  std::uint64_t dropped{};  // for want of room, or because no ring takes frames of that size
  std::uint64_t wakes{};
};

class RingWriter final : public Egress {
 public:
  // `memory` is a fresh ring of that size, and outlives the writer.
  RingWriter(MutableBytes memory, const RingSize& size, const Doorbell& doorbell = {});

  void send(std::span<const wire::Frame> frames, Time now) override;
  void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) override;

  // How many frames of the largest size surely fit when it is empty, and now.
  [[nodiscard]] std::uint32_t capacity() const { return data_bytes_ / kMaxSpan; }
  [[nodiscard]] std::uint32_t room();
  // Promises room for up to `wanted` frames and tells for how many. Promises add up until they
  // are taken back: with the next send, or because nothing came of them.
  [[nodiscard]] std::uint32_t grant(std::uint32_t wanted);
  // The same for one frame without payload, for which some room is kept that others do not get.
  [[nodiscard]] bool grant_bare();
  void take_back_grants() { granted_ = granted_bare_ = 0; }
  void give_back(std::uint32_t unused) { granted_ -= std::min(unused, granted_); }

  // True once the reader has claimed something impossible. Nothing more is written then.
  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] const RingWriterCounters& counters() const { return counters_; }

 private:
  struct FlowSlot {
    std::uint8_t index{};
    bool told{};
  };
  [[nodiscard]] FlowSlot find_flow(const wire::Flow& flow) const;
  void tell_flow(std::uint8_t index, const wire::Flow& flow);

  void put(const wire::Frame& frame);
  // Puts a run that begins with the first of these into one slot. How many frames that were: zero
  // if it is none, or does not fit.
  [[nodiscard]] std::size_t put_run(std::span<const wire::Frame> frames);
  [[nodiscard]] bool fits(std::uint32_t slots, std::uint32_t data_length);
  void look_at_reader();
  [[nodiscard]] std::uint32_t room_as_known() const;
  [[nodiscard]] std::uint64_t free_slots() const { return slot_count_ - (head_ - slots_done_); }

  // A slot is begun, filled and sealed; it becomes visible when it is published, at the latest when
  // the send ends.
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
  std::uint64_t slots_done_{};  // as the reader said when last looked
  std::uint64_t data_done_{};
  std::uint64_t sealed_{};  // the commit word of the slot before head_, zero when it is stored
  std::uint32_t granted_{};
  std::uint32_t granted_bare_{};
  bool broken_{};
  struct KnownFlow {
    wire::Flow flow;
    bool told{};
  };
  std::array<KnownFlow, kFlows> flows_{};
  std::uint8_t last_flow_{};
  RingWriterCounters counters_;
};

}  // namespace nerve::link::shm
