// Frames that other processes are to get, or that wait for one: those of QP 1, which all processes
// of a user share, and those that were read from a socket that several of them read.
#include "host/network/exchange.h"

namespace nerve::host {
namespace {

// How long a slot without a process is taken to stay so.
constexpr Duration kNobodyFor = std::chrono::milliseconds{10};

}  // namespace

void Exchange::send_management(const wire::Frame& mad, Time now) {
  const auto send = [&](const wire::Frame& frame) {
    udp_out_->send({&frame, 1}, now);
    udp_quiet_ = 0;
    ++frames_sent_;
    ++counters_->udp_frames;
    counters_->udp_bytes += frame.payload_length;
  };
  if (const auto made = seals_->mads.sign(mad)) send(*made);
  if (seals_->mads.may_be_plain(mad.flow.destination)) send(mad);
}

void Exchange::forward(std::span<const wire::Frame> frames, Time now) {
  for (const wire::Frame& frame : frames) {
    if (seals_ != nullptr && frame.headers.bth.dest_qp == kManagementQpn &&
        !MadSeal::is_signed(frame) && !seals_->mads.may_be_plain(frame.flow.source)) {
      continue;
    }
    const std::uint32_t slot = slot_for(frame);
    OutgoingRing* ring = by_slot_[slot];
    if (ring == nullptr) {
      const bool waits = frame.headers.bth.dest_qp == kManagementQpn;
      const std::optional<Time> since = nobody_since_[slot];
      if (waits || !since || now - *since >= kNobodyFor) wanted_.set(slot);
      if (waits) {
        waiting_.add(slot, frame);
      } else {
        ++counters_->unreachable;
      }
      continue;
    }
    ring->writer().send({&frame, 1}, now);
    ++counters_->forwarded;
  }
}

void Exchange::drain_slot(std::uint32_t slot, link::FrameSink& sink, Time now) {
  for (const auto& ring : incoming_) {
    if (ring->slot() != slot) continue;
    const Origin peer{*this, slot};
    (void)ring->reader().receive(sink, link::shm::RingSize{}.slots, now);
  }
}

void Exchange::deliver_waiting(std::uint32_t slot, link::FrameSink& own, Time now) {
  (void)waiting_.deliver(slot, own, now);
}

std::optional<std::uint32_t> Exchange::take_wanted() {
  if (wanted_.none()) return std::nullopt;
  do {
    last_wanted_ = (last_wanted_ + 1) % kSlots;
  } while (!wanted_[last_wanted_]);
  wanted_.reset(last_wanted_);
  return last_wanted_;
}

}  // namespace nerve::host
