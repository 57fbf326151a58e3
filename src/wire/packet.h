// Encodes frames into bytes and decodes them: the IP header, the UDP header, the transport headers,
// payload, pad and ICRC of one RoCEv2 packet.
//
//    IPv4 (20) or IPv6 (40) | UDP (8) | BTH (12) | extended headers | payload | pad (0..3) | ICRC
//    (4)
//
// There are two forms: the whole packet, for raw sockets, taps and captures, and the UDP payload
// alone, for a socket whose kernel writes the IP and UDP headers. The ICRC covers those headers in
// both, so the sender must know what the kernel will write: Envelope describes it.
//
// Nothing here allocates, and encoding touches each byte of payload once.
#pragma once

#include "wire/outer.h"

namespace nerve::wire {

enum class IcrcVerdict : std::uint8_t { kGood, kBad };

// A packet decoded from bytes, which it refers to. A bad ICRC is reported, not rejected: a receiver
// must drop such a packet, while a fuzzer or a capture reader looks past it.
struct Packet {
  Flow flow{};
  Envelope envelope{};
  Headers headers{};
  Bytes payload{};
  IcrcVerdict icrc{};

  // The packet as the engine accepts it. The piece belongs to the caller and must outlive the
  // frame.
  [[nodiscard]] Frame frame(Piece& piece) const;
};

// The size of each form of a frame. Bth::pad is taken as it is; see pad_for().
[[nodiscard]] std::size_t packet_size(const Frame& frame);
[[nodiscard]] std::size_t udp_payload_size(const Frame& frame);

// Builds the whole packet around an existing UDP payload (BTH to ICRC), for example one that was
// delayed or corrupted. Returns the bytes written; IPv6 and UDP headers take 48.
std::size_t encode_packet(const Flow& flow, const Envelope& envelope, Bytes udp_payload,
                          MutableBytes out);

// Both return the number of bytes written; `out` must have room for the size above. The packet is
// IPv4 when the frame's destination is.
std::size_t encode_packet(const Frame& frame, const Envelope& envelope, MutableBytes out);
std::size_t encode_udp_payload(const Frame& frame, const Envelope& envelope, MutableBytes out);

// encode_udp_payload for one packet of many: `outer` is the OuterSum of the frame's flow and size,
// applied to its identification.
std::size_t encode_after_sum(const Frame& frame, std::uint32_t outer, MutableBytes out);

// Decodes from the first byte of the IP header. Bytes after the packet's own length (Ethernet
// padding) are ignored. Returns kNotRoce for another protocol.
[[nodiscard]] Result<Packet, WireError> decode_packet(Bytes in);

// Decodes from the first byte of the BTH. The caller supplies the contents of the IP and UDP
// headers; the pad in `envelope` is replaced by the one found.
[[nodiscard]] Result<Packet, WireError> decode_udp_payload(const Flow& flow,
                                                           const Envelope& envelope, Bytes in);

// The result of checking the ICRC when the socket does not expose the IPv4 identification.
struct UnseenVerdict {
  IcrcVerdict icrc{};
  std::uint16_t identification{};  // `guess`, or otherwise the one that makes the ICRC good
};

// Decodes one packet of many from such a socket into a frame. The caller has filled in the flow;
// the payload becomes `piece`. `outer` belongs to the flow and to the size of `in`.
[[nodiscard]] Result<UnseenVerdict, WireError> decode_after_sum(OuterSum& outer,
                                                                std::uint16_t guess, Bytes in,
                                                                Frame& frame, Piece& piece);

}  // namespace nerve::wire
