#include "tests/dst/sealed_wire.h"

#include "base/check.h"

namespace nerve::dst {

bool SealedWire::can_seal(const Parcel& parcel) {
  const auto transport = wire::transport_of(parcel.headers.bth.opcode);
  return transport != wire::Transport::kUd && !parcel.flow.destination.is_multicast();
}

SealedWire::Direction& SealedWire::direction(const wire::Flow& flow, Qpn to, Time now) {
  const std::tuple key{flow.source.bytes, flow.destination.bytes, to.value()};
  const auto found = directions_.find(key);
  if (found != directions_.end()) return found->second;
  seal::ChainSecret secret;
  crypto_.fill_random(secret.bytes());
  Direction made{.outgoing = {crypto_, seal::Suite::kAes128Gcm, secret, 1},
                 .incoming = {crypto_, seal::Suite::kAes128Gcm, secret, 1}};
  // Rarely enough that an epoch is never lost as a whole.
  made.outgoing.change_keys({.packets = 500}, now);
  return directions_.emplace(key, std::move(made)).first->second;
}

std::vector<std::byte> SealedWire::seal(const Parcel& parcel, Time now) {
  wire::Piece piece;
  const wire::Frame frame = view(parcel, piece);
  std::vector<std::byte> bytes(seal::sealed_size(frame));
  CHECK(direction(parcel.flow, parcel.headers.bth.dest_qp, now).outgoing.seal(frame, now, bytes));
  return bytes;
}

std::optional<Parcel> SealedWire::open(const wire::Flow& flow, Qpn to,
                                       std::vector<std::byte> packet, Time now) {
  wire::Frame frame;
  wire::Piece piece;
  const seal::Opening opening =
      direction(flow, to, now).incoming.open(flow, packet, now, frame, piece);
  if (opening != seal::Opening::kGood) return std::nullopt;
  return capture(frame);
}

}  // namespace nerve::dst
