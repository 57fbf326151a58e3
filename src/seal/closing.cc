#include "seal/closing.h"

#include <algorithm>

#include "base/check.h"

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

// Writes everything in front of the ciphertext, and begins the encryption.
void begin(const EpochKey& key, const Header& header, const wire::Flow& flow, Bytes bth,
           MutableBytes out) {
  const auto clear = out.first<kClearSize>();
  std::ranges::copy(bth.first(wire::Bth::kSize), clear.begin());
  clear[0] = std::byte{kSealedOpcode};
  header.encode(clear.subspan<wire::Bth::kSize>());
  key.cipher().begin_sealing(key.nonce(header.counter), associated_data(flow, clear));
}

}  // namespace

bool encrypt(const EpochKey& key, const Header& header, const wire::Frame& frame,
             MutableBytes out) {
  std::array<std::byte, wire::kMaxHeadersSize> headers{};
  const std::size_t size = frame.headers.size();
  frame.headers.encode(headers);
  begin(key, header, frame.flow, headers, out);

  // The opcode takes the place of the BTH's end, so that extended headers follow it.
  constexpr std::size_t kInnerAt = wire::Bth::kSize - kInnerSize;
  std::fill_n(headers.begin() + kInnerAt, kInnerSize, std::byte{0});
  headers[kInnerAt] = std::byte{frame.headers.bth.opcode};
  Cipher& cipher = key.cipher();
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

bool encrypt(const EpochKey& key, const Header& header, const wire::Flow& flow, Bytes plain,
             MutableBytes out) {
  begin(key, header, flow, plain, out);
  std::array<std::byte, kInnerSize> inner{plain[0]};
  Cipher& cipher = key.cipher();
  cipher.add(inner, out.subspan(kClearSize, kInnerSize));
  const Bytes rest = plain.subspan(wire::Bth::kSize);
  cipher.add(rest, out.subspan(kClearSize + kInnerSize, rest.size()));
  return cipher.finish_sealing(
      out.subspan(kClearSize + kInnerSize + rest.size()).first<kTagSize>());
}

}  // namespace nerve::seal
