// Packets that came before their turn, kept until the ones before them are here. A responder with
// selective repeat has one of these; it hands them on in order, so that whoever executes requests
// sees none out of it.
//
// A frame's memory ends with the call that brings it: payload with contents is copied, payload
// without (a simulator's) is only a length. Nothing is allocated before the first packet comes out
// of order, and then all there will ever be: most connections never need it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/fixed_array.h"
#include "base/ids.h"
#include "wire/frame.h"
#include "wire/selective_nak.h"

namespace nerve::nic {

class HeldPackets {
 public:
  explicit HeldPackets(std::uint32_t window);

  // A packet this far ahead of the expected one, or farther, has no place here.
  [[nodiscard]] std::uint32_t window() const { return window_; }
  [[nodiscard]] bool has(Psn psn) const;
  [[nodiscard]] bool empty() const { return held_ == 0; }

  // The packet lies within the window; its payload has at most `mtu` bytes, the same for all.
  void keep(const wire::Frame& frame, std::uint32_t mtu);
  // The packet of that PSN, which is no longer held; what it refers to holds until the next keep().
  [[nodiscard]] std::optional<wire::Frame> take(Psn psn);

  // The peer is owed word of this packet, which is held.
  void owe_word(Psn psn);
  // The next packet to tell of, in the order of arrival; those that were taken since are not.
  [[nodiscard]] std::optional<Psn> next_word();
  // The next packets to report in one selective NAK, of those that a run can name: the whole run
  // that is held around the next one, whatever was reported of it before, for that NAK may be lost.
  [[nodiscard]] std::optional<wire::PsnRun> next_run(Psn expected);
  [[nodiscard]] bool owes_word() const { return told_ != owed_; }

 private:
  struct Slot {
    wire::Headers headers{};
    wire::Piece piece{};
    std::uint32_t payload_length{};
    bool held{};
    bool owed{};  // its number is in queue_
  };

  [[nodiscard]] std::uint32_t place(Psn psn) const { return psn.value() & (window_ - 1); }
  void copy_payload(Slot& slot, const wire::Frame& frame, std::uint32_t mtu);

  std::uint32_t window_;  // a power of two
  FixedArray<Slot> slots_;
  std::unique_ptr<std::byte[]> bytes_;
  FixedArray<std::uint32_t> queue_;  // of slots; both ends run freely
  std::uint32_t owed_{};
  std::uint32_t told_{};
  std::uint32_t held_{};  // packets
};

}  // namespace nerve::nic
