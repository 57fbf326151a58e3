#include "nic/qp_context/held_packets.h"

#include <algorithm>
#include <bit>

#include "nic/dma_engine/dma_engine.h"

namespace nerve::nic {
namespace {

bool has_contents(const wire::Piece& piece) {
  return piece.port == nullptr || piece.port->has_contents();
}

}  // namespace

HeldPackets::HeldPackets(std::uint32_t window) : window_{std::bit_ceil(window)} {}

bool HeldPackets::has(Psn psn) const {
  if (slots_.size() == 0) return false;
  const Slot& slot = slots_[place(psn)];
  return slot.held && slot.headers.bth.psn == psn;
}

void HeldPackets::keep(const wire::Frame& frame, std::uint32_t mtu) {
  if (slots_.size() == 0) {
    slots_ = FixedArray<Slot>{window_};
    queue_ = FixedArray<std::uint32_t>{window_};
  }
  Slot& slot = slots_[place(frame.headers.bth.psn)];
  slot.headers = frame.headers;
  slot.payload_length = frame.payload_length;
  if (!slot.held) ++held_;
  slot.held = true;
  if (frame.payload_length == 0) return;
  if (std::ranges::any_of(frame.payload, has_contents)) return copy_payload(slot, frame, mtu);
  slot.piece = {frame.payload.front().address, frame.payload_length, frame.payload.front().port};
}

void HeldPackets::copy_payload(Slot& slot, const wire::Frame& frame, std::uint32_t mtu) {
  CHECK(frame.payload_length <= mtu);
  if (!bytes_) bytes_ = std::make_unique_for_overwrite<std::byte[]>(std::size_t{window_} * mtu);
  std::byte* const to = bytes_.get() + std::size_t{place(slot.headers.bth.psn)} * mtu;
  slot.piece = {.address = reinterpret_cast<std::uint64_t>(to), .length = frame.payload_length};
  DmaEngine::place(slot.piece, frame.payload);
}

std::optional<wire::Frame> HeldPackets::take(Psn psn) {
  if (!has(psn)) return std::nullopt;
  Slot& slot = slots_[place(psn)];
  slot.held = false;
  --held_;
  wire::Frame frame{.headers = slot.headers};
  frame.payload = {&slot.piece, slot.payload_length > 0 ? 1U : 0U};
  frame.payload_length = slot.payload_length;
  return frame;
}

void HeldPackets::queue_report(Psn psn) {
  Slot& slot = slots_[place(psn)];
  if (slot.queued) return;
  slot.queued = true;
  queue_[queued_++ & (window_ - 1)] = place(psn);
}

std::optional<Psn> HeldPackets::next_report() {
  while (has_reports()) {
    Slot& slot = slots_[queue_[reported_++ & (window_ - 1)]];
    slot.queued = false;
    if (slot.held) return slot.headers.bth.psn;
  }
  return std::nullopt;
}

std::optional<wire::PsnRun> HeldPackets::next_run(Psn expected) {
  const std::optional<Psn> next = next_report();
  if (!next) return std::nullopt;
  wire::PsnRun run{.first = *next};
  const auto is_held = [this](Psn psn) { return has(psn); };
  while (run.count < wire::kMaxRunLength && is_held(run.first + run.count)) ++run.count;
  const Psn before{0xff'ffffU};
  while (run.count < wire::kMaxRunLength && run.first != expected + 1 &&
         is_held(run.first + before.value())) {
    run.first = run.first + before.value();
    ++run.count;
  }
  // Dequeue the packets that this run reports.
  while (has_reports()) {
    Slot& slot = slots_[queue_[reported_ & (window_ - 1)]];
    const auto into = static_cast<std::uint32_t>(slot.headers.bth.psn.distance_from(run.first));
    if (slot.held && into >= run.count) break;
    slot.queued = false;
    ++reported_;
  }
  return run;
}

}  // namespace nerve::nic
