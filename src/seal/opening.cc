#include "seal/opening.h"

#include <algorithm>

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

MutableBytes text_of(MutableBytes packet) {
  return packet.subspan(kClearSize, packet.size() - kClearSize - kTagSize);
}

}  // namespace

std::optional<Header> data_header(Bytes packet) {
  if (packet.size() < wire::Bth::kSize + kOverhead) return std::nullopt;
  const auto header = Header::decode(packet.subspan(wire::Bth::kSize).first<Header::kSize>());
  return header && header->kind == Kind::kData ? header : std::nullopt;
}

bool decrypt(const EpochKey& key, const Header& header, const wire::Flow& flow,
             MutableBytes packet) {
  Cipher& cipher = key.cipher();
  cipher.begin_opening(key.nonce(header.counter),
                       associated_data(flow, packet.first<kClearSize>()));
  const MutableBytes text = text_of(packet);
  cipher.add(text, text);
  return cipher.finish_opening(packet.last<kTagSize>());
}

Opening read_decrypted(const wire::Flow& flow, MutableBytes packet, wire::Frame& frame,
                       wire::Piece& piece) {
  const std::byte opcode = text_of(packet)[0];
  if (opcode == std::byte{kSealedOpcode}) return Opening::kEmpty;
  // The BTH moves to where extended headers follow it.
  const std::size_t plain_at = kClearSize + kInnerSize - wire::Bth::kSize;
  std::copy_backward(packet.begin(), packet.begin() + wire::Bth::kSize,
                     packet.begin() + static_cast<std::ptrdiff_t>(plain_at + wire::Bth::kSize));
  packet[plain_at] = opcode;
  frame.flow = flow;
  const MutableBytes plain = packet.subspan(plain_at, packet.size() - plain_at - kTagSize);
  return read_plain(plain, frame, piece) ? Opening::kGood : Opening::kMalformed;
}

}  // namespace nerve::seal
