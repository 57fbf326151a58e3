#include "host/seal/mad_seal.h"

#include "host/network/management.h"
#include "wire/opcode.h"

namespace nerve::host {
namespace {

constexpr wire::Opcode kPlainOpcode =
    wire::opcode(wire::Transport::kUd, wire::Operation::kSendOnly);

}  // namespace

void MadSeal::leave() {
  secrets_.leave();
  setup_.reset();
}

bool MadSeal::may_be_plain(const wire::Gid& peer) const { return !setup_->policy.must_seal(peer); }

std::optional<seal::MadKey> MadSeal::key_for(const wire::Gid& peer) {
  if (setup_->policy.mode_for(peer) == SealMode::kOff) return std::nullopt;
  const seal::ChainSecret* const secret = secrets_.with(peer);
  if (secret == nullptr) return std::nullopt;
  return seal::MadKey{*setup_->crypto, *secret};
}

bool MadSeal::copy(const wire::Frame& from, std::size_t size) {
  return from.payload_length == size && copy_payload(from, std::span{mad_}.first(size));
}

wire::Frame MadSeal::with_payload(const wire::Frame& like, std::size_t size) {
  piece_ = {.address = reinterpret_cast<std::uint64_t>(mad_.data()),
            .length = static_cast<std::uint32_t>(size)};
  wire::Frame frame = like;
  frame.payload = {&piece_, 1};
  frame.payload_length = piece_.length;
  return frame;
}

std::optional<wire::Frame> MadSeal::sign(const wire::Frame& plain) {
  const auto key = key_for(plain.flow.destination);
  if (!key || !copy(plain, wire::kMadSize)) return std::nullopt;
  wire::Frame made = with_payload(plain, mad_.size());
  made.headers.bth.opcode = seal::kSignedMadOpcode;
  key->sign(made.flow, made.headers.bth, mad_);
  return made;
}

bool MadSeal::is_signed(const wire::Frame& frame) {
  return frame.headers.bth.opcode == seal::kSignedMadOpcode;
}

std::optional<wire::Frame> MadSeal::open(const wire::Frame& frame) {
  const auto key = key_for(frame.flow.source);
  if (!key || !copy(frame, mad_.size()) || !key->verify(frame.flow, frame.headers.bth, mad_)) {
    return std::nullopt;
  }
  wire::Frame plain = with_payload(frame, wire::kMadSize);
  plain.headers.bth.opcode = kPlainOpcode;
  plain.headers.deth = {.qkey = wire::kGsiQkey, .source_qp = kManagementQpn};
  plain.sealed = true;
  return plain;
}

}  // namespace nerve::host
