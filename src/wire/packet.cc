#include "wire/packet.h"

#include <algorithm>
#include <cstring>

#include "base/planted.h"
#include "wire/crc32.h"
#include "wire/icrc.h"

namespace nerve::wire {
namespace {

// Copies one piece of payload to `out` and feeds it to the ICRC.
std::uint32_t gather(std::uint32_t state, const Piece& piece, MutableBytes out) {
  if (piece.port == nullptr) {
    const auto* from = reinterpret_cast<const std::byte*>(piece.address);  // see Piece
    return crc32_copy(state, out, Bytes{from, piece.length});
  }
  if (piece.port->has_contents()) {
    piece.port->read(piece.address, out);
  } else {
    std::fill(out.begin(), out.end(), std::byte{0});
  }
  return crc32(state, out);
}

// Up to this size a payload is copied first and summed together with the headers: saving a call is
// worth more than touching each byte once.
constexpr std::size_t kSmallPayload = 256;

void copy_piece(const Piece& piece, MutableBytes out) {
  if (piece.port != nullptr) {
    (void)gather(0, piece, out);
  } else if (piece.length > 0) {
    std::memcpy(out.data(), reinterpret_cast<const std::byte*>(piece.address), piece.length);
  }
}

// Encodes everything from the BTH on; `outer` is the register after the outer headers.
void encode_inner(const Frame& frame, const std::array<std::byte, 3>& pad_bytes,
                  std::uint32_t outer, MutableBytes out) {
  const std::size_t headers = frame.headers.size();
  frame.headers.encode(out);
  std::uint32_t state = icrc_bth(outer, out.first<Bth::kSize>());
  std::size_t summed = Bth::kSize;
  std::size_t at = headers;
  if (frame.payload_length <= kSmallPayload) {
    for (const Piece& piece : frame.payload) {
      copy_piece(piece, out.subspan(at, piece.length));
      at += piece.length;
    }
  } else {
    state = crc32(state, out.subspan(Bth::kSize, headers - Bth::kSize));
    for (const Piece& piece : frame.payload) {
      state = gather(state, piece, out.subspan(at, piece.length));
      at += piece.length;
    }
    summed = at;
  }
  CHECK(at == headers + frame.payload_length);
  const std::size_t pad = frame.headers.bth.pad;
  std::copy_n(pad_bytes.begin(), pad, out.begin() + static_cast<std::ptrdiff_t>(at));
  state = crc32(state, out.subspan(summed, at + pad - summed));
  const auto icrc = icrc_end(state);
  std::copy(icrc.begin(), icrc.end(), out.begin() + static_cast<std::ptrdiff_t>(at + pad));
}

// Decodes the headers of `in`, which ends with an ICRC, and finds payload and pad.
struct Body {
  Bytes payload{};
  Bytes pad{};
};
Result<Body, WireError> decode_body(Bytes in, Headers& headers) {
  if (in.size() < Bth::kSize + kIcrcSize) return Unexpected{WireError::kTruncated};
  const Bytes covered = in.first(in.size() - kIcrcSize);
  const std::size_t size = Headers::decode_into(covered, headers);
  if (size == 0) return Unexpected{WireError::kTruncated};
  const Bytes body = covered.subspan(size);
  const std::size_t pad = headers.bth.pad;
  if (body.size() < pad) return Unexpected{WireError::kBadLength};
  return Body{.payload = body.first(body.size() - pad), .pad = body.last(pad)};
}

void refer_to(Bytes payload, Frame& frame, Piece& piece) {
  piece = {.address = reinterpret_cast<std::uint64_t>(payload.data()),
           .length = static_cast<std::uint32_t>(payload.size())};
  frame.payload = {&piece, payload.empty() ? 0U : 1U};
  frame.payload_length = piece.length;
}

// The difference between a packet's CRC and the ICRC at its end; zero when it is good.
std::uint32_t sum_difference(std::uint32_t outer, Bytes in) {
  const Bytes covered = in.first(in.size() - kIcrcSize);
  const std::uint32_t state =
      crc32(icrc_bth(outer, covered.first<Bth::kSize>()), covered.subspan(Bth::kSize));
  return icrc_difference(state, in.last<kIcrcSize>());
}

IcrcVerdict verdict(bool good) {
  return good || planted(Bug::kIgnoreIcrc) ? IcrcVerdict::kGood : IcrcVerdict::kBad;
}

// Decodes everything from the BTH on into `packet`, whose flow and envelope are already known.
Result<Packet, WireError> decode_inner(Packet packet, std::uint32_t outer, Bytes in) {
  const auto body = decode_body(in, packet.headers);
  if (!body) return Unexpected{body.error()};
  packet.payload = body->payload;
  packet.envelope.pad = {};
  std::ranges::copy(body->pad, packet.envelope.pad.begin());
  packet.icrc = verdict(sum_difference(outer, in) == 0);
  return packet;
}

// The UDP datagram of a packet whose IP header has been decoded, and the contents of that header.
struct Datagram {
  Flow flow{};
  Envelope envelope{};
  std::size_t ip_size{};
  std::size_t length{};  // from the IP header
};

// Whether an IPv4 packet that Ipv4Header rejects because of its options is addressed to the RoCEv2
// port. Other protocols use options (IGMP does) and are not RoCE.
bool has_roce_port(Bytes in) {
  const std::size_t udp = 4 * (static_cast<std::size_t>(in[0]) & 0xfU);
  return in.size() >= udp + UdpHeader::kSize && load_be<2>(in, udp + 2) == kRocePort;
}

Result<Datagram, WireError> decode_ipv4(Bytes in) {
  if (in.size() < Ipv4Header::kSize) return Unexpected{WireError::kTruncated};
  if (static_cast<std::uint8_t>(in[9]) != kProtocolUdp) return Unexpected{WireError::kNotRoce};
  const auto ip = Ipv4Header::decode(in);
  if (!ip) return Unexpected{has_roce_port(in) ? ip.error() : WireError::kNotRoce};
  // RoCEv2 is never fragmented, and a later fragment has no ports to identify its protocol.
  if (ip->is_fragment()) return Unexpected{WireError::kNotRoce};
  if (ip->total_length < Ipv4Header::kSize) return Unexpected{WireError::kBadLength};
  return Datagram{
      .flow = {.source = ip->source,
               .destination = ip->destination,
               .traffic_class = ip->traffic_class,
               .hop_limit = ip->hop_limit},
      .envelope = {.identification = ip->identification, .fragment = ip->fragment},
      .ip_size = Ipv4Header::kSize,
      .length = ip->total_length - Ipv4Header::kSize,
  };
}

Result<Datagram, WireError> decode_ipv6(Bytes in) {
  const auto ip = Ipv6Header::decode(in);
  if (!ip) return Unexpected{ip.error()};
  if (ip->next_header != kProtocolUdp) return Unexpected{WireError::kNotRoce};
  // A mapped IPv4 address must not appear on the wire, and would equal the GID of another port.
  if (ip->source.is_ipv4() || ip->destination.is_ipv4()) return Unexpected{WireError::kBadField};
  return Datagram{
      .flow = {.source = ip->source,
               .destination = ip->destination,
               .traffic_class = ip->traffic_class,
               .hop_limit = ip->hop_limit,
               .flow_label = ip->flow_label},
      .ip_size = Ipv6Header::kSize,
      .length = ip->payload_length,
  };
}

Result<Datagram, WireError> decode_ip(Bytes in) {
  if (in.empty()) return Unexpected{WireError::kTruncated};
  switch (static_cast<unsigned>(in[0]) >> 4U) {
    case 4:
      return decode_ipv4(in);
    case 6:
      return decode_ipv6(in);
    default:
      return Unexpected{WireError::kNotRoce};
  }
}

}  // namespace

Frame Packet::frame(Piece& piece) const {
  Frame frame{.flow = flow, .headers = headers};
  refer_to(payload, frame, piece);
  return frame;
}

std::size_t udp_payload_size(const Frame& frame) {
  return frame.headers.size() + frame.payload_length + frame.headers.bth.pad + kIcrcSize;
}

std::size_t packet_size(const Frame& frame) {
  return ip_size(frame.flow) + UdpHeader::kSize + udp_payload_size(frame);
}

std::size_t encode_packet(const Frame& frame, const Envelope& envelope, MutableBytes out) {
  const std::size_t size = packet_size(frame);
  CHECK(out.size() >= size);
  const std::size_t outer = encode_outer(frame.flow, envelope, udp_payload_size(frame), out);
  encode_inner(frame, envelope.pad, icrc_outer(out.first(outer)), out.subspan(outer, size - outer));
  return size;
}

std::size_t encode_udp_payload(const Frame& frame, const Envelope& envelope, MutableBytes out) {
  const std::size_t size = udp_payload_size(frame);
  CHECK(out.size() >= size);
  std::array<std::byte, kMaxOuterSize> outer;
  const std::size_t outer_size = encode_outer(frame.flow, envelope, size, outer);
  encode_inner(frame, envelope.pad, icrc_outer(Bytes{outer}.first(outer_size)), out.first(size));
  return size;
}

std::size_t encode_after_sum(const Frame& frame, std::uint32_t outer, MutableBytes out) {
  const std::size_t size = udp_payload_size(frame);
  CHECK(out.size() >= size);
  encode_inner(frame, {}, outer, out.first(size));
  return size;
}

std::size_t encode_packet(const Flow& flow, const Envelope& envelope, Bytes udp_payload,
                          MutableBytes out) {
  const std::size_t outer = encode_outer(flow, envelope, udp_payload.size(), out);
  CHECK(out.size() >= outer + udp_payload.size());
  std::ranges::copy(udp_payload, out.begin() + static_cast<std::ptrdiff_t>(outer));
  return outer + udp_payload.size();
}

Result<Packet, WireError> decode_packet(Bytes in) {
  const auto datagram = decode_ip(in);
  if (!datagram) return Unexpected{datagram.error()};
  const Bytes after_ip = in.subspan(datagram->ip_size);
  const auto udp = UdpHeader::decode(after_ip);
  if (!udp) return Unexpected{udp.error()};
  if (udp->destination_port != kRocePort) return Unexpected{WireError::kNotRoce};
  if (udp->length != datagram->length || udp->length < UdpHeader::kSize) {
    return Unexpected{WireError::kBadLength};
  }
  if (after_ip.size() < udp->length) return Unexpected{WireError::kTruncated};
  Packet packet{.flow = datagram->flow, .envelope = datagram->envelope};
  packet.flow.source_port = udp->source_port;
  packet.envelope.udp_checksum = udp->checksum;
  return decode_inner(packet, icrc_outer(in.first(datagram->ip_size + UdpHeader::kSize)),
                      after_ip.first(udp->length).subspan(UdpHeader::kSize));
}

Result<Packet, WireError> decode_udp_payload(const Flow& flow, const Envelope& envelope, Bytes in) {
  if (in.size() > kMaxUdpPayload) return Unexpected{WireError::kBadLength};
  std::array<std::byte, kMaxOuterSize> outer;
  const std::size_t outer_size = encode_outer(flow, envelope, in.size(), outer);
  return decode_inner(Packet{.flow = flow, .envelope = envelope},
                      icrc_outer(Bytes{outer}.first(outer_size)), in);
}

Result<UnseenVerdict, WireError> decode_after_sum(OuterSum& outer, std::uint16_t guess, Bytes in,
                                                  Frame& frame, Piece& piece) {
  const auto body = decode_body(in, frame.headers);
  if (!body) return Unexpected{body.error()};
  refer_to(body->payload, frame, piece);
  const std::uint32_t difference = sum_difference(outer(guess), in);
  if (difference == 0) return UnseenVerdict{IcrcVerdict::kGood, guess};
  const auto found = outer.solve(guess, difference);
  return UnseenVerdict{verdict(found.has_value()), found.value_or(guess)};
}

}  // namespace nerve::wire
