#include "seal/outgoing.h"

#include "base/planted.h"
#include "seal/closing.h"

namespace nerve::seal {

Outgoing::Outgoing(Crypto& crypto, Suite suite, const ChainSecret& secret, std::uint32_t spi)
    : schedule_{crypto, suite, secret}, key_{schedule_.next()}, spi_{spi} {}

void Outgoing::change_keys(const EpochLimits& limits, Time now) {
  limits_ = limits;
  epoch_began_at_ = counter_;
  epoch_began_ = now;
}

bool Outgoing::epoch_is_over(Time now) const {
  return limits_ &&
         (counter_ - epoch_began_at_ >= limits_->packets || now - epoch_began_ >= limits_->age);
}

std::optional<Header> Outgoing::next_header(Time now) {
  if (counter_ + 1 == ~std::uint64_t{0}) return std::nullopt;
  if (epoch_is_over(now)) {
    key_ = schedule_.next();
    ++epoch_;
    ++epochs_;
    epoch_began_at_ = counter_;
    epoch_began_ = now;
  }
  if (!key_) return std::nullopt;
  const Header header{.kind = Kind::kData, .epoch = epoch_, .spi = spi_, .counter = counter_};
  if (!planted(Bug::kNonceReused) || counter_ % 64 != 63) ++counter_;
  return header;
}

bool Outgoing::seal(const wire::Frame& frame, Time now, MutableBytes out) {
  const auto header = next_header(now);
  return header && encrypt(key_, *header, frame, out);
}

bool Outgoing::seal(const wire::Flow& flow, Bytes plain, Time now, MutableBytes out) {
  if (plain.size() < wire::Bth::kSize) return false;
  const auto header = next_header(now);
  return header && encrypt(key_, *header, flow, plain, out);
}

bool Outgoing::seal_nothing(const wire::Flow& flow, Qpn to, Time now, MutableBytes out) {
  std::array<std::byte, wire::Bth::kSize> bth{};
  wire::Bth{.opcode = kSealedOpcode, .dest_qp = to}.encode(bth);
  return seal(flow, bth, now, out);
}

}  // namespace nerve::seal
