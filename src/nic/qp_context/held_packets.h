// Packets that arrived ahead of a missing one, held until it arrives. A responder with selective
// repeat takes them out in order, so that requests are always executed in order.
//
// A frame's memory is valid only during the call that delivers it, so payload with contents is
// copied; payload without contents (in a simulator) is only a length. Nothing is allocated before
// the first packet arrives out of order, and then everything at once: most connections never need
// it.
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

  // Packets at least this far ahead of the expected one cannot be held.
  [[nodiscard]] std::uint32_t window() const { return window_; }
  [[nodiscard]] bool has(Psn psn) const;
  [[nodiscard]] bool empty() const { return held_ == 0; }

  // The packet must lie within the window. Its payload has at most `mtu` bytes, the same value in
  // every call.
  void keep(const wire::Frame& frame, std::uint32_t mtu);
  // Removes and returns the packet with this PSN. Its payload is valid until the next keep().
  [[nodiscard]] std::optional<wire::Frame> take(Psn psn);

  // Queues this held packet for a report to the peer.
  void queue_report(Psn psn);
  // The next packet to report, in order of arrival; packets that were taken since are skipped.
  [[nodiscard]] std::optional<Psn> next_report();
  // The next packets to report in one selective NAK, if a run can name them: the whole run of held
  // packets around the next one, including those reported before, because that NAK may be lost.
  [[nodiscard]] std::optional<wire::PsnRun> next_run(Psn expected);
  [[nodiscard]] bool has_reports() const { return reported_ != queued_; }

 private:
  struct Slot {
    wire::Headers headers{};
    wire::Piece piece{};
    std::uint32_t payload_length{};
    bool held{};
    bool queued{};  // it is in queue_
  };

  [[nodiscard]] std::uint32_t place(Psn psn) const { return psn.value() & (window_ - 1); }
  void copy_payload(Slot& slot, const wire::Frame& frame, std::uint32_t mtu);

  std::uint32_t window_;  // a power of two
  FixedArray<Slot> slots_;
  std::unique_ptr<std::byte[]> bytes_;
  FixedArray<std::uint32_t> queue_;  // of slots; both indices run freely
  std::uint32_t queued_{};
  std::uint32_t reported_{};
  std::uint32_t held_{};  // packets
};

}  // namespace nerve::nic
