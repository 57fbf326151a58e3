#include "host/network/management.h"

#include <algorithm>
#include <cstring>

#include "host/peers/membership.h"
#include "wire/cm_mad.h"

namespace nerve::host {
namespace {

using wire::CmAttribute;

// Offsets of the fields that identify the receiver. The full layout is in wire/cm_layout.h.
constexpr std::size_t kClassAt = 1;
constexpr std::size_t kAttributeAt = 16;
constexpr std::size_t kSidrIdAt = 24;
constexpr std::size_t kRemoteIdAt = 28;
constexpr std::size_t kServiceAt = 32;
constexpr std::size_t kPeek = 40;

std::optional<std::uint32_t> slot_in(Bytes mad, std::size_t at) {
  const std::uint32_t slot = slot_of(wire::CommId{static_cast<std::uint32_t>(load_be<4>(mad, at))});
  return slot != 0 ? std::optional{slot} : std::nullopt;
}

std::optional<std::uint32_t> slot_for(Bytes mad, const PortSpace* ports) {
  if (std::to_integer<std::uint8_t>(mad[kClassAt]) != wire::kCmClass) return std::nullopt;
  switch (static_cast<CmAttribute>(load_be<2>(mad, kAttributeAt))) {
    case CmAttribute::kReq:
    case CmAttribute::kSidrReq:
      return ports != nullptr ? ports->owner(wire::ServiceId{load_be<8>(mad, kServiceAt)})
                              : std::nullopt;
    case CmAttribute::kMra:
    case CmAttribute::kRej:
    case CmAttribute::kRep:
    case CmAttribute::kRtu:
    case CmAttribute::kDreq:
    case CmAttribute::kDrep:
      return slot_in(mad, kRemoteIdAt);
    case CmAttribute::kSidrRep:
      return slot_in(mad, kSidrIdAt);
    case CmAttribute::kLap:
    case CmAttribute::kApr:
      break;
  }
  return std::nullopt;
}

}  // namespace

bool copy_payload(const wire::Frame& frame, MutableBytes into) {
  std::size_t filled = 0;
  for (const wire::Piece& piece : frame.payload) {
    const std::size_t some = std::min<std::size_t>(piece.length, into.size() - filled);
    if (some == 0) continue;
    if (piece.port != nullptr) return false;
    std::memcpy(into.data() + filled, reinterpret_cast<const void*>(piece.address), some);
    filled += some;
  }
  return filled == into.size();
}

std::optional<std::uint32_t> slot_for_mad(const wire::Frame& frame, const PortSpace* ports) {
  std::array<std::byte, kPeek> mad;
  const bool whole = frame.payload_length >= wire::kMadSize;
  return whole && copy_payload(frame, mad) ? slot_for(mad, ports) : std::nullopt;
}

std::optional<std::uint32_t> slot_for_mad(Bytes udp_payload, const PortSpace* ports) {
  constexpr std::size_t kHeaders = wire::Bth::kSize + wire::Deth::kSize;
  if (udp_payload.size() < kHeaders + wire::kMadSize) return std::nullopt;
  return slot_for(udp_payload.subspan(kHeaders, kPeek), ports);
}

void WaitingMads::add(std::uint32_t slot, const wire::Frame& frame) {
  if (frame.payload_length < wire::kMadSize || frame.payload_length > kMaxSize) return;
  Waiting waiting{
      .slot = slot, .flow = frame.flow, .headers = frame.headers, .size = frame.payload_length};
  if (!copy_payload(frame, std::span{waiting.bytes}.first(waiting.size))) return;
  if (mads_.size() == kMaxWaiting) mads_.erase(mads_.begin());
  mads_.push_back(waiting);
}

template <class Take>
std::size_t WaitingMads::take(std::uint32_t slot, Take take) {
  // Remove them from the list first: the callback may add new ones.
  const auto rest = std::stable_partition(mads_.begin(), mads_.end(),
                                          [&](const Waiting& w) { return w.slot != slot; });
  const std::vector<Waiting> taken(rest, mads_.end());
  mads_.erase(rest, mads_.end());
  for (const Waiting& waiting : taken) {
    const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(waiting.bytes.data()),
                            .length = waiting.size};
    const wire::Frame frame{.flow = waiting.flow,
                            .headers = waiting.headers,
                            .payload = {&piece, 1},
                            .payload_length = waiting.size};
    take(std::span{&frame, 1});
  }
  return taken.size();
}

std::size_t WaitingMads::send(std::uint32_t slot, link::Egress& to, Time now) {
  return take(slot, [&](std::span<const wire::Frame> one) { to.send(one, now); });
}

std::size_t WaitingMads::deliver(std::uint32_t slot, link::FrameSink& to, Time now) {
  return take(slot, [&](std::span<const wire::Frame> one) { to.deliver(one, now); });
}

void WaitingMads::forget(std::uint32_t slot) {
  std::erase_if(mads_, [&](const Waiting& w) { return w.slot == slot; });
}

}  // namespace nerve::host
