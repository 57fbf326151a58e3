// A frame as the engine sees it: addresses, headers and references to its payload.
//
// The engine sends and receives frames. A link encodes a frame into bytes (packet.h) and decodes
// it; a simulator forwards it as it is. Payload is referenced, never copied: the references of a
// transmitted frame are valid until the next call into the engine that made it, those of a received
// frame during the receive() call.
#pragma once

#include <cstdint>
#include <span>

#include "base/memory_port.h"
#include "wire/gid.h"
#include "wire/headers.h"

namespace nerve::wire {

inline constexpr std::uint16_t kRocePort = 4791;

// The two low bits of the traffic class (RFC 3168).
enum class Ecn : std::uint8_t { kNotCapable = 0, kCapable1 = 1, kCapable0 = 2, kCongestion = 3 };

// The addresses of a frame and its treatment by the network.
struct Flow {
  Gid source{};
  Gid destination{};
  std::uint16_t source_port{0xc000};  // UDP; the entropy with which switches spread flows
  std::uint8_t traffic_class{};       // DSCP in the upper six bits, ECN in the lower two
  std::uint8_t hop_limit{64};
  std::uint32_t flow_label{};  // IPv6 only, 20 bits
  friend bool operator==(const Flow&, const Flow&) = default;

  [[nodiscard]] constexpr Ecn ecn() const { return static_cast<Ecn>(traffic_class & 3U); }
  constexpr void set_ecn(Ecn ecn) {
    traffic_class = static_cast<std::uint8_t>((traffic_class & 0xfcU) | static_cast<unsigned>(ecn));
  }
};

// A contiguous run of payload bytes. Without a port, the address is a pointer into this process.
struct Piece {
  std::uint64_t address{};
  std::uint32_t length{};
  MemoryPort* port{};
};

// A record that a switch wrote into a packet on its path (in-band telemetry, as HPCC reads it).
struct HopTelemetry {
  std::uint64_t transmitted_bytes{};
  std::uint64_t timestamp_ps{};
  std::uint64_t line_rate_bps{};
  std::uint32_t queue_bytes{};
};

struct Frame {
  Flow flow{};
  Headers headers{};
  std::span<const Piece> payload{};
  std::uint32_t payload_length{};
  // Set when this frame and the one before it in the burst have the same flow and, except for the
  // last frame of the run, the same size. A link may then hand the run to the kernel as one train
  // of segments.
  bool continues_train{};
  // The message's payload is in the target's memory already: the sender has copied it there. Only
  // between processes of one host, and only for a WRITE of one packet.
  bool placed{};
  bool sealed{};   // it arrived sealed and is authentic
  bool trimmed{};  // a switch has cut off its payload (simulated networks only)
  std::span<const HopTelemetry> telemetry{};
};

}  // namespace nerve::wire
