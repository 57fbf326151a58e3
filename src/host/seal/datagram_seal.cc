#include "host/seal/datagram_seal.h"

namespace nerve::host {
namespace {

std::uint8_t mask_of(std::span<const seal::Suite> suites) {
  unsigned mask = 0;
  for (const seal::Suite suite : suites) mask |= 1U << static_cast<unsigned>(suite);
  return static_cast<std::uint8_t>(mask);
}

}  // namespace

DatagramSeal::DatagramSeal(const std::shared_ptr<const SealSetup>& setup)
    : setup_{setup}, secrets_{setup, seal::kDatagramPurpose} {
  if (setup_ != nullptr && setup_->crypto != nullptr) {
    receiver_.emplace(*setup_->crypto, mask_of(setup_->suites));
  }
}

void DatagramSeal::leave() {
  senders_.clear();
  receiver_.reset();
  secrets_.leave();
  setup_.reset();
}

seal::Sealer* DatagramSeal::sealer_for(const wire::Flow& flow) {
  const seal::ChainSecret* const secret = secrets_.with(flow.destination);
  if (secret == nullptr || setup_->suites.empty()) return nullptr;
  return &senders_
              .try_emplace({flow.source.bytes, secret}, *setup_->crypto, setup_->suites.front(),
                           *secret)
              .first->second;
}

seal::Opening DatagramSeal::receive(const wire::Flow& flow, MutableBytes packet, Time now,
                                    wire::Frame& frame, wire::Piece& piece) {
  // The members of a group have one key, whoever sends.
  const wire::Gid& peer = flow.destination.is_multicast() ? flow.destination : flow.source;
  const seal::ChainSecret* const secret = secrets_.with(peer);
  if (secret == nullptr || !receiver_) return seal::Opening::kUnknown;
  return receiver_->receive(*secret, flow, packet, now, frame, piece);
}

}  // namespace nerve::host
