#include "seal/outgoing.h"

#include <algorithm>

#include "base/check.h"
#include "base/planted.h"

namespace nerve::seal {
namespace {

// Encrypts a piece of payload into `out`.
void add_piece(Cipher& cipher, const wire::Piece& piece, MutableBytes out) {
  if (piece.port == nullptr) {
    const auto* from = reinterpret_cast<const std::byte*>(piece.address);  // see Piece
    return cipher.add(Bytes{from, piece.length}, out);
  }
  if (piece.port->has_contents()) {
    piece.port->read(piece.address, out);
  } else {
    std::ranges::fill(out, std::byte{0});
  }
  cipher.add(out, out);
}

}  // namespace

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

bool Outgoing::begin(const wire::Flow& flow, Bytes bth, Time now, MutableBytes out) {
  if (counter_ + 1 == ~std::uint64_t{0}) return false;
  if (epoch_is_over(now)) {
    key_ = schedule_.next();
    ++epoch_;
    ++epochs_;
    epoch_began_at_ = counter_;
    epoch_began_ = now;
  }
  if (!key_) return false;
  const auto clear = out.first<kClearSize>();
  std::ranges::copy(bth.first(wire::Bth::kSize), clear.begin());
  clear[0] = std::byte{kSealedOpcode};
  const Header header{.kind = Kind::kData, .epoch = epoch_, .spi = spi_, .counter = counter_};
  header.encode(clear.subspan<wire::Bth::kSize>());
  key_.cipher().begin_sealing(key_.nonce(counter_), associated_data(flow, clear));
  if (!planted(Bug::kNonceReused) || counter_ % 64 != 63) ++counter_;
  return true;
}

bool Outgoing::seal(const wire::Frame& frame, Time now, MutableBytes out) {
  std::array<std::byte, wire::kMaxHeadersSize> headers{};
  const std::size_t size = frame.headers.size();
  frame.headers.encode(headers);
  if (!begin(frame.flow, headers, now, out)) return false;

  // The opcode takes the place of the BTH's end, so that extended headers follow it.
  constexpr std::size_t kInnerAt = wire::Bth::kSize - kInnerSize;
  std::fill_n(headers.begin() + kInnerAt, kInnerSize, std::byte{0});
  headers[kInnerAt] = std::byte{frame.headers.bth.opcode};
  Cipher& cipher = key_.cipher();
  const Bytes inner = Bytes{headers}.subspan(kInnerAt, size - kInnerAt);
  cipher.add(inner, out.subspan(kClearSize, inner.size()));
  std::size_t at = kClearSize + inner.size();
  for (const wire::Piece& piece : frame.payload) {
    add_piece(cipher, piece, out.subspan(at, piece.length));
    at += piece.length;
  }
  CHECK(at == kClearSize + inner.size() + frame.payload_length);
  constexpr std::array<std::byte, 3> kPad{};
  const std::size_t pad = frame.headers.bth.pad;
  cipher.add(Bytes{kPad}.first(pad), out.subspan(at, pad));
  return cipher.finish_sealing(out.subspan(at + pad).first<kTagSize>());
}

bool Outgoing::seal(const wire::Flow& flow, Bytes plain, Time now, MutableBytes out) {
  if (plain.size() < wire::Bth::kSize || !begin(flow, plain, now, out)) return false;
  std::array<std::byte, kInnerSize> inner{plain[0]};
  Cipher& cipher = key_.cipher();
  cipher.add(inner, out.subspan(kClearSize, kInnerSize));
  const Bytes rest = plain.subspan(wire::Bth::kSize);
  cipher.add(rest, out.subspan(kClearSize + kInnerSize, rest.size()));
  return cipher.finish_sealing(
      out.subspan(kClearSize + kInnerSize + rest.size()).first<kTagSize>());
}

bool Outgoing::seal_nothing(const wire::Flow& flow, Qpn to, Time now, MutableBytes out) {
  std::array<std::byte, wire::Bth::kSize> bth{};
  wire::Bth{.opcode = kSealedOpcode, .dest_qp = to}.encode(bth);
  return seal(flow, bth, now, out);
}

}  // namespace nerve::seal
