#include "host/network/exchange.h"

#include <algorithm>

#include "host/peers/membership.h"
#include "wire/packet.h"

namespace nerve::host {
namespace {

// A silent UDP socket is polled once in this many receives.
constexpr std::uint32_t kAskQuietEvery = 16;

// After a ring was full, QPs resume once this many frames fit, or half of the ring's capacity if
// that is less.
constexpr std::uint32_t kWorthResuming = 16;

// A process that has not read its ring for this long is stopped or hangs. From then on its ring
// drops packets, as a link to a dead host would: senders' retransmission timers run, and a datagram
// QP can send to other destinations.
constexpr Duration kStuckAfter = std::chrono::milliseconds{200};

std::uint64_t bytes_of(std::span<const wire::Frame> frames) {
  std::uint64_t bytes = 0;
  for (const wire::Frame& frame : frames) bytes += frame.payload_length;
  return bytes;
}

bool is_unreliable(const wire::Frame& frame) {
  const auto transport = wire::transport_of(frame.headers.bth.opcode);
  return transport == wire::Transport::kUc || transport == wire::Transport::kUd;
}

}  // namespace

Exchange::Exchange(Transport transport, std::uint32_t own_slot)
    : transport_{transport}, own_slot_{own_slot}, by_slot_(kSlots), nobody_since_(kSlots) {}

bool Exchange::find_local(const wire::Gid& gid) const {
  if (std::ranges::find(local_, gid) == local_.end()) return false;
  found_local_ = gid;
  return true;
}

std::uint32_t Exchange::slot_for(const wire::Frame& frame) const {
  const Qpn qpn = frame.headers.bth.dest_qp;
  return qpn == kManagementQpn ? slot_for_mad(frame, ports_).value_or(own_slot_) : slot_of(qpn);
}

Exchange::Route Exchange::route_to(const wire::Gid& gid, std::uint32_t slot) const {
  if (left_) return {};
  const Route by_udp{.path = udp_out_ != nullptr ? Path::kUdp : Path::kNone};
  if (transport_ == Transport::kUdp || !is_local(gid)) return by_udp;
  if (slot == own_slot_ && own_) return {.path = Path::kRing, .ring = &own_->writer()};
  OutgoingRing* const to = by_slot_[slot];
  return to != nullptr ? Route{.path = Path::kRing, .ring = &to->writer(), .to = to} : by_udp;
}

OutgoingRing* Exchange::ring_to(const wire::Gid& gid, Qpn qpn) const {
  if (left_ || transport_ == Transport::kUdp || !is_local(gid)) return nullptr;
  return by_slot_[slot_of(qpn)];
}

std::span<const std::shared_ptr<IncomingRing>> Exchange::placers() const {
  if (left_) return {};
  return incoming_;
}

bool Exchange::has_ring_to(std::uint32_t slot) const {
  const OutgoingRing* const ring = by_slot_[slot];
  return ring != nullptr && is_open(ring->connection());
}

void Exchange::send(std::span<const wire::Frame> frames, Time now) {
  const auto same_route = [](const wire::Frame& a, const wire::Frame& b) {
    return b.continues_train ||
           (slot_of(a.headers.bth.dest_qp) == slot_of(b.headers.bth.dest_qp) &&
            a.flow.destination == b.flow.destination && b.headers.bth.dest_qp != kManagementQpn);
  };
  while (!frames.empty()) {
    std::size_t run = 1;
    while (run < frames.size() && same_route(frames[run - 1], frames[run])) ++run;
    send_run(frames.first(run), now);
    frames = frames.subspan(run);
  }
}

void Exchange::send_run(std::span<const wire::Frame> frames, Time now) {
  const wire::Frame& first = frames.front();
  const std::uint32_t slot = slot_for(first);
  const Route route = route_to(first.flow.destination, slot);
  switch (route.path) {
    case Path::kRing:
      route.ring->send(frames, now);
      frames_sent_ += frames.size();
      counters_->shm_frames += frames.size();
      counters_->shm_bytes += bytes_of(frames);
      break;
    case Path::kUdp:
      if (seals_ != nullptr && first.headers.bth.dest_qp == kManagementQpn) {
        send_management(first, now);
        break;
      }
      if (seals_ != nullptr && seals_->way_of(first.flow, first.headers.bth).sealer != nullptr) {
        counters_->sealed_frames += frames.size();
      }
      udp_out_->send(frames, now);
      sent_unreliable(frames, now);
      udp_quiet_ = 0;
      frames_sent_ += frames.size();
      counters_->udp_frames += frames.size();
      counters_->udp_bytes += bytes_of(frames);
      break;
    case Path::kNone:
      if (want_ring(first.flow.destination, slot) && first.headers.bth.dest_qp == kManagementQpn) {
        waiting_.add(slot, first);
      } else {
        counters_->unreachable += frames.size();
      }
      break;
  }
}

bool Exchange::want_ring(const wire::Gid& gid, std::uint32_t slot) {
  // A peer that did not answer when we connected may have been stopped, or the machine busy.
  // Sending to it again triggers another attempt.
  if (left_ || transport_ == Transport::kUdp || slot == own_slot_ || !is_local(gid)) return false;
  wanted_.set(slot);
  return true;
}

void Exchange::send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) {
  const auto bth = wire::Bth::decode(udp_payload);
  std::uint32_t slot = bth ? slot_of(bth->dest_qp) : 0;
  if (bth && bth->dest_qp == kManagementQpn) {
    slot = slot_for_mad(udp_payload, ports_).value_or(own_slot_);
  }
  const Route route = bth ? route_to(flow.destination, slot) : Route{};
  switch (route.path) {
    case Path::kRing:
      ++frames_sent_;
      ++counters_->shm_frames;
      return route.ring->send_bytes(flow, udp_payload, now);
    case Path::kUdp:
      if (seals_ != nullptr && bth->dest_qp == kManagementQpn) {
        const auto packet = wire::decode_udp_payload(flow, {}, udp_payload);
        wire::Piece piece;
        if (packet && packet->icrc == wire::IcrcVerdict::kGood) {
          send_management(packet->frame(piece), now);
        }
        return;
      }
      ++frames_sent_;
      ++counters_->udp_frames;
      udp_quiet_ = 0;
      return udp_out_->send_bytes(flow, udp_payload, now);
    case Path::kNone:
      ++counters_->unreachable;
      if (bth) (void)want_ring(flow.destination, slot);
  }
}

std::uint32_t Exchange::grant(const Request& request) {
  const Route route = route_to(request.flow.destination, slot_of(request.destination));
  last_granted_ = route.ring;
  granted_by_room_ = false;
  if (route.path != Path::kRing) {
    if (seals_ != nullptr && seals_->waits(request.flow.destination, request.destination)) {
      refused_ = true;
      return 0;
    }
    if (route.path != Path::kUdp || request.reliable) return request.frames;
    const std::uint32_t granted = grant_unreliable(request);
    refused_ = refused_ || granted == 0;
    return granted;
  }
  const std::uint32_t granted = route.ring->grant(request.frames);
  if (granted_.empty() || granted_.back() != route.ring) granted_.push_back(route.ring);
  if (granted > 0) {
    if (route.to != nullptr) route.to->full_since.reset();
    return granted;
  }
  if (route.to != nullptr) {
    if (stuck(*route.to)) return request.frames;
    if (!route.to->full_since) route.to->full_since = burst_began_;
  }
  refused_ = true;
  return 0;
}

std::uint32_t Exchange::grant_unreliable(const Request& request) {
  const std::uint32_t granted = pace_.grant(request.frames, burst_began_);
  if (granted == 0 || room_ == nullptr || !is_local(request.flow.destination)) return granted;
  granted_by_room_ = true;
  return room_->grant(slot_of(request.destination), granted, burst_began_);
}

// One run of frames goes to one slot of one host, but may contain frames of several QPs.
void Exchange::sent_unreliable(std::span<const wire::Frame> frames, Time now) {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  for (const wire::Frame& frame : frames) {
    if (!is_unreliable(frame)) continue;
    ++count;
    bytes += frame.payload_length;
  }
  if (count == 0) return;
  pace_.sent(count, bytes, now);
  const wire::Frame& first = frames.front();
  if (room_ != nullptr && is_local(first.flow.destination)) {
    room_->sent(slot_of(first.headers.bth.dest_qp), count, bytes);
  }
}

bool Exchange::grant_acknowledge(const wire::Flow& flow, Qpn destination) {
  const Route route = route_to(flow.destination, slot_of(destination));
  if (route.path == Path::kRing) return route.ring->grant_bare();
  return seals_ == nullptr || !seals_->waits(flow.destination, destination);
}

// A ring drops packets only if its reader is stuck.
bool Exchange::may_lose(const wire::Flow& flow, Qpn destination) const {
  const Route route = route_to(flow.destination, slot_of(destination));
  return route.path != Path::kRing || (route.to != nullptr && stuck(*route.to));
}

void Exchange::give_back(std::uint32_t unused) {
  if (last_granted_ != nullptr) last_granted_->give_back(unused);
  if (granted_by_room_) room_->give_back(unused);
}

bool Exchange::stuck(const OutgoingRing& ring) const {
  return ring.full_since && burst_began_ - *ring.full_since >= kStuckAfter;
}

void Exchange::begin_burst(Time now) {
  burst_began_ = now;
  forget_grants();
}

void Exchange::forget_grants() {
  for (link::shm::RingWriter* ring : granted_) ring->take_back_grants();
  granted_.clear();
  last_granted_ = nullptr;
  if (room_ != nullptr) room_->begin_burst();
}

bool Exchange::room_again(Time now) {
  if (!refused_) return false;
  const auto roomy = [](auto& ring) {
    return ring->writer().room() >= std::min(kWorthResuming, ring->writer().capacity() / 2);
  };
  const auto ready = [&](auto& ring) { return roomy(ring) || stuck(*ring); };
  const bool room = ring_gone_ || (seals_ != nullptr && seals_->stopped_waiting()) ||
                    pace_.room_again(now) || (room_ != nullptr && room_->room_again(now)) ||
                    (own_ && roomy(own_)) || std::ranges::any_of(outgoing_, ready);
  if (room) refused_ = ring_gone_ = false;
  return room;
}

std::optional<Time> Exchange::next_room() const {
  if (!refused_) return std::nullopt;
  const std::optional<Time> paced = pace_.next_room();
  const std::optional<Time> free = room_ != nullptr ? room_->next_room() : std::nullopt;
  return paced && free ? std::min(*paced, *free) : (paced ? paced : free);
}

std::size_t Exchange::receive(link::FrameSink& own, link::FrameSink& others, std::size_t budget,
                              Time now) {
  std::size_t received = 0;
  if (left_) return received;
  if (own_) {
    const Origin here{*this, own_slot_};
    received += own_->reader().receive(own, budget, now);
  }
  // Start with a different ring each time, so that a busy ring cannot use up the budget of the
  // others.
  for (std::size_t i = 0; i < incoming_.size() && received < budget; ++i) {
    const std::size_t at = (next_incoming_ + i) % incoming_.size();
    const Origin peer{*this, incoming_[at]->slot()};
    received += incoming_[at]->reader().receive(others, budget - received, now);
  }
  ++next_incoming_;
  if (udp_in_ == nullptr) return received;
  if (++udp_quiet_ < kQuietAfter || udp_quiet_ % kAskQuietEvery == 0) {
    const Origin network{*this, kNetwork};
    const std::size_t came = udp_in_->receive(others, budget, now);
    if (came > 0) udp_quiet_ = 0;
    received += came;
  }
  return received;
}

std::size_t Exchange::receive_aside(link::Ingress& in, link::FrameSink& others, std::size_t budget,
                                    Time now) {
  if (left_) return 0;
  const Origin network{*this, kNetwork};
  return in.receive(others, budget, now);
}

bool Exchange::pending() const {
  const auto waits = [](const auto& ring) { return ring->reader().pending(); };
  return (own_ && waits(own_)) || std::ranges::any_of(incoming_, waits);
}

void Exchange::leave() {
  left_ = true;
  granted_.clear();
  last_granted_ = nullptr;
}

bool Exchange::add(std::unique_ptr<OutgoingRing> ring, Time now) {
  if (has_ring_to(ring->slot())) return false;
  by_slot_[ring->slot()] = ring.get();
  counters_->forwarded += waiting_.send(ring->slot(), ring->writer(), now);
  outgoing_.push_back(std::move(ring));
  return true;
}

void Exchange::add(std::shared_ptr<IncomingRing> ring) {
  nobody_since_[ring->slot()].reset();
  incoming_.push_back(std::move(ring));
  note_incoming();
}

void Exchange::note_incoming() {
  has_incoming_.reset();
  for (const auto& ring : incoming_) has_incoming_.set(ring->slot());
}

void Exchange::drain(int connection, link::FrameSink& sink, Time now) {
  // Read only that ring, and at most one ring's capacity: the lock is held, and other rings may
  // never run empty.
  for (const auto& ring : incoming_) {
    if (ring->connection() != connection) continue;
    const Origin peer{*this, ring->slot()};
    (void)ring->reader().receive(sink, link::shm::RingSize{}.slots, now);
  }
}

std::optional<std::uint32_t> Exchange::remove_connection(int connection) {
  std::optional<std::uint32_t> slot;
  const auto over = [&](const auto& ring) { return ring->connection() == connection; };
  for (const auto& ring : outgoing_) {
    if (!over(ring)) continue;
    slot = ring->slot();
    if (by_slot_[*slot] == ring.get()) by_slot_[*slot] = nullptr;
    ring_gone_ = true;
  }
  for (const auto& ring : incoming_) {
    if (over(ring)) slot = ring->slot();
  }
  forget_grants();
  std::erase_if(outgoing_, over);
  std::erase_if(incoming_, over);
  note_incoming();
  if (slot && has_ring_to(*slot)) slot.reset();
  return slot;
}

}  // namespace nerve::host
