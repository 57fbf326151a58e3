// Frames to bytes and back: the IP header, the UDP header, the transport headers, payload, pad
// and ICRC of one RoCEv2 packet.
//
//    IPv4 (20) or IPv6 (40) | UDP (8) | BTH (12) | extended headers | payload | pad (0..3) | ICRC
//    (4)
//
// Two forms. The whole packet, for raw sockets, taps and captures; and the UDP payload alone, for
// a socket whose kernel writes the IP and UDP headers. The ICRC covers those headers all the same,
// so the sender must know what the kernel will write: Envelope says it.
//
// Nothing here allocates, and each byte of payload is touched once on the way out.
#pragma once

#include "wire/outer.h"

namespace nerve::wire {

enum class IcrcVerdict : std::uint8_t { kGood, kBad };

// A packet as read from bytes, to which it refers. A bad ICRC is told, not refused: a receiver
// must drop such a packet, while a fuzzer or a capture looks past it.
struct Packet {
  Flow flow{};
  Envelope envelope{};
  Headers headers{};
  Bytes payload{};
  IcrcVerdict icrc{};

  // The packet as the engine takes it. The piece belongs to the caller and must outlive the frame.
  [[nodiscard]] Frame frame(Piece& piece) const;
};

// Bytes that each form of a frame takes. Bth::pad counts as it stands; see pad_for().
[[nodiscard]] std::size_t packet_size(const Frame& frame);
[[nodiscard]] std::size_t udp_payload_size(const Frame& frame);

// The whole packet around a UDP payload, BTH to ICRC, that is made already: one that was held back
// or damaged. Returns the bytes written; IPv6 and UDP headers take 48.
std::size_t encode_packet(const Flow& flow, const Envelope& envelope, Bytes udp_payload,
                          MutableBytes out);

// Both return the number of bytes written; `out` must have room for the size above. The frame is
// IPv4 when its destination is.
std::size_t encode_packet(const Frame& frame, const Envelope& envelope, MutableBytes out);
std::size_t encode_udp_payload(const Frame& frame, const Envelope& envelope, MutableBytes out);

// encode_udp_payload for one of many: `outer` is the OuterSum of the frame's flow and size with its
// identification.
std::size_t encode_after_sum(const Frame& frame, std::uint32_t outer, MutableBytes out);

// From the first byte of the IP header; bytes after the packet's own length (Ethernet's padding)
// are ignored. kNotRoce for what is some other protocol's.
[[nodiscard]] Result<Packet, WireError> decode_packet(Bytes in);

// From the first byte of the BTH. The caller tells what the IP and UDP headers said; the pad in
// `envelope` is replaced by what is found.
[[nodiscard]] Result<Packet, WireError> decode_udp_payload(const Flow& flow,
                                                           const Envelope& envelope, Bytes in);

// What a socket that shows no IPv4 identification lets one say about a packet's ICRC.
struct UnseenVerdict {
  IcrcVerdict icrc{};
  std::uint16_t identification{};  // `guess`, or else the one that makes the ICRC good
};

// One of many, from such a socket, into a frame whose flow the caller knows, and whose payload then
// is `piece`. `outer` is that of the flow and of the size of `in`.
[[nodiscard]] Result<UnseenVerdict, WireError> decode_after_sum(OuterSum& outer,
                                                                std::uint16_t guess, Bytes in,
                                                                Frame& frame, Piece& piece);

}  // namespace nerve::wire
