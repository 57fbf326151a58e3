#include "tests/dst/parcel.h"

#include <cstring>

#include "wire/describe.h"
#include "wire/packet.h"

namespace nerve::dst {

NoContents& no_contents() {
  static NoContents port;
  return port;
}

Parcel capture(const wire::Frame& frame) {
  Parcel parcel{.flow = frame.flow, .headers = frame.headers, .length = frame.payload_length};
  parcel.placed = frame.placed;
  for (const wire::Piece& piece : frame.payload) {
    if (piece.port != nullptr && !piece.port->has_contents()) {
      parcel.has_contents = false;
      continue;
    }
    const std::size_t at = parcel.payload.size();
    parcel.payload.resize(at + piece.length);
    if (piece.length == 0) continue;
    if (piece.port != nullptr) {
      piece.port->read(piece.address, MutableBytes{parcel.payload}.subspan(at));
    } else {
      std::memcpy(parcel.payload.data() + at, reinterpret_cast<const void*>(piece.address),
                  piece.length);
    }
  }
  return parcel;
}

wire::Frame view(const Parcel& parcel, wire::Piece& piece) {
  piece = {.address = reinterpret_cast<std::uint64_t>(parcel.payload.data()),
           .length = parcel.length,
           .port = parcel.has_contents ? nullptr : &no_contents()};
  wire::Frame frame{.flow = parcel.flow, .headers = parcel.headers};
  frame.payload_length = parcel.length;
  frame.placed = parcel.placed;
  frame.trimmed = parcel.trimmed;
  if (parcel.length > 0) frame.payload = {&piece, 1};
  return frame;
}

std::vector<std::byte> to_bytes(const Parcel& parcel) {
  wire::Piece piece;
  const wire::Frame frame = view(parcel, piece);
  std::vector<std::byte> bytes(wire::packet_size(frame));
  wire::encode_packet(frame, wire::Envelope{}, bytes);
  return bytes;
}

std::string describe(const Parcel& parcel) {
  return wire::describe(parcel.headers, parcel.length, parcel.payload);
}

}  // namespace nerve::dst
