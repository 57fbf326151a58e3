#include "seal/incoming.h"

#include <utility>

#include "base/planted.h"

namespace nerve::seal {

Incoming::Incoming(Crypto& crypto, Suite suite, const ChainSecret& secret, std::uint32_t spi)
    : schedule_{crypto, suite, secret},
      current_{schedule_.next()},
      next_{schedule_.next()},
      spi_{spi} {}

EpochKey* Incoming::key_of(std::uint8_t epoch, Time now) {
  if (epoch == epoch_) return &current_;
  if (epoch == static_cast<std::uint8_t>(epoch_ + 1)) return &next_;
  const bool over = now - epoch_began_ >= kOverlap && !planted(Bug::kOldEpochForEver);
  if (over) previous_ = {};
  return epoch == static_cast<std::uint8_t>(epoch_ - 1) && previous_ ? &previous_ : nullptr;
}

void Incoming::begin_epoch(Time now) {
  previous_ = std::exchange(current_, std::exchange(next_, schedule_.next()));
  ++epoch_;
  epoch_began_ = now;
}

Opening Incoming::open(const wire::Flow& flow, MutableBytes packet, Time now, wire::Frame& frame,
                       wire::Piece& piece) {
  const auto header = data_header(packet);
  if (!header) return Opening::kMalformed;
  if (header->spi != spi_) return Opening::kUnknown;
  if (!window_.is_new(header->counter)) return Opening::kReplayed;
  EpochKey* const key = key_of(header->epoch, now);
  if (key == nullptr || !*key) return Opening::kOldEpoch;

  if (!decrypt(*key, *header, flow, packet)) return Opening::kForged;
  window_.note(header->counter);
  if (key == &next_) begin_epoch(now);
  return read_decrypted(flow, packet, frame, piece);
}

}  // namespace nerve::seal
