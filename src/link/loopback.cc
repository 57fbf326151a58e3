#include "link/loopback.h"

#include <utility>

#include "wire/packet.h"

namespace nerve::link {

void Loopback::send(std::span<const wire::Frame> frames, Time /*now*/) {
  for (const wire::Frame& frame : frames) {
    Held held{.flow = frame.flow, .octets{}};
    held.octets.resize(wire::udp_payload_size(frame));
    wire::encode_udp_payload(frame, {}, held.octets);
    held_.push_back(std::move(held));
  }
}

void Loopback::send_octets(const wire::Flow& flow, Octets udp_payload, Time /*now*/) {
  held_.push_back({.flow = flow, .octets{udp_payload.begin(), udp_payload.end()}});
}

std::size_t Loopback::receive(FrameSink& sink, std::size_t budget, Time now) {
  std::size_t delivered = 0;
  for (; delivered < budget && !held_.empty(); ++delivered) {
    const Held held = std::move(held_.front());
    held_.pop_front();
    const auto packet = wire::decode_udp_payload(held.flow, {}, held.octets);
    if (!packet || packet->icrc != wire::IcrcVerdict::kGood) continue;
    wire::Piece piece;
    const wire::Frame frame = packet->frame(piece);
    sink.deliver({&frame, 1}, now);
  }
  return delivered;
}

}  // namespace nerve::link
