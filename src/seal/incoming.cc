#include "seal/incoming.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"

namespace nerve::seal {
namespace {

// Decodes the plain packet at the end of which `bytes` ends, from its BTH to its pad.
bool read_plain(MutableBytes bytes, wire::Frame& frame, wire::Piece& piece) {
  const std::size_t headers = wire::Headers::decode_into(bytes, frame.headers);
  const std::size_t pad = frame.headers.bth.pad;
  if (headers == 0 || bytes.size() < headers + pad) return false;
  const Bytes payload = bytes.subspan(headers, bytes.size() - headers - pad);
  piece = {.address = reinterpret_cast<std::uint64_t>(payload.data()),
           .length = static_cast<std::uint32_t>(payload.size())};
  frame.payload = {&piece, payload.empty() ? 0U : 1U};
  frame.payload_length = piece.length;
  return true;
}

}  // namespace

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
  if (packet.size() < wire::Bth::kSize + kOverhead) return Opening::kMalformed;
  const auto clear = packet.first<kClearSize>();
  const auto header = Header::decode(clear.subspan<wire::Bth::kSize>());
  if (!header || header->kind != Kind::kData) return Opening::kMalformed;
  if (header->spi != spi_) return Opening::kUnknown;
  if (!window_.is_new(header->counter)) return Opening::kReplayed;
  EpochKey* const key = key_of(header->epoch, now);
  if (key == nullptr || !*key) return Opening::kOldEpoch;

  Cipher& cipher = key->cipher();
  cipher.begin_opening(key->nonce(header->counter), associated_data(flow, clear));
  const MutableBytes text = packet.subspan(kClearSize, packet.size() - kClearSize - kTagSize);
  cipher.add(text, text);
  if (!cipher.finish_opening(packet.last<kTagSize>())) return Opening::kForged;
  window_.note(header->counter);
  if (key == &next_) begin_epoch(now);

  // The BTH moves to where extended headers follow it.
  const std::byte opcode = text[0];
  if (opcode == std::byte{kSealedOpcode}) return Opening::kEmpty;
  const std::size_t plain_at = kClearSize + kInnerSize - wire::Bth::kSize;
  std::copy_backward(packet.begin(), packet.begin() + wire::Bth::kSize,
                     packet.begin() + static_cast<std::ptrdiff_t>(plain_at + wire::Bth::kSize));
  packet[plain_at] = opcode;
  frame.flow = flow;
  const MutableBytes plain = packet.subspan(plain_at, packet.size() - plain_at - kTagSize);
  return read_plain(plain, frame, piece) ? Opening::kGood : Opening::kMalformed;
}

}  // namespace nerve::seal
