// The extended transport headers as values, and Headers: all that one packet says besides its
// payload. Which members of Headers mean something is told by the opcode table; the others hold
// their defaults, so that == compares packets.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/bth.h"
#include "wire/opcode.h"
#include "wire/wire_error.h"

namespace nerve::wire {

// RDMA Extended Transport Header (IBTA 9.3.3): where a READ or WRITE begins and how long it is.
struct Reth {
  static constexpr std::size_t kSize = 16;
  std::uint64_t address{};
  RKey rkey{};
  std::uint32_t length{};
  friend bool operator==(const Reth&, const Reth&) = default;
};

// Atomic Extended Transport Header (IBTA 9.3.4).
struct AtomicEth {
  static constexpr std::size_t kSize = 28;
  std::uint64_t address{};
  RKey rkey{};
  std::uint64_t swap_or_add{};
  std::uint64_t compare{};
  friend bool operator==(const AtomicEth&, const AtomicEth&) = default;
};

// Acknowledge Extended Transport Header (IBTA 9.3.5).
struct Aeth {
  static constexpr std::size_t kSize = 4;
  std::uint8_t syndrome{};
  std::uint32_t msn{};  // 24 bits
  friend bool operator==(const Aeth&, const Aeth&) = default;
};

// Flush Extended Transport Header (IBTA annex A19).
struct Feth {
  static constexpr std::size_t kSize = 4;
  std::uint8_t placement{};    // bit 0: global visibility, bit 1: persistence
  std::uint8_t selectivity{};  // 0: the range of the RETH, 1: the whole memory region
  friend bool operator==(const Feth&, const Feth&) = default;
};

// Datagram Extended Transport Header (IBTA 9.3.2).
struct Deth {
  static constexpr std::size_t kSize = 8;
  std::uint32_t qkey{};
  Qpn source_qp{};
  friend bool operator==(const Deth&, const Deth&) = default;
};

inline constexpr std::size_t kXrcEthSize = 4;        // reserved byte, 24-bit SRQ number
inline constexpr std::size_t kAtomicAckEthSize = 8;  // the value before the operation
inline constexpr std::size_t kImmDtSize = 4;
inline constexpr std::size_t kIethSize = 4;
inline constexpr std::size_t kCnpPadSize = 16;

// BTH, XRCETH and AtomicETH: no packet has more bytes of headers than this.
inline constexpr std::size_t kMaxHeadersSize = Bth::kSize + kXrcEthSize + AtomicEth::kSize;

// How many pad bytes bring a payload to a multiple of four; what Bth::pad says.
constexpr std::uint8_t pad_for(std::uint32_t payload_length) {
  return static_cast<std::uint8_t>(-payload_length & 3U);
}

struct Headers {
  Bth bth{};
  Reth reth{};
  AtomicEth atomic{};
  std::uint64_t atomic_ack{};
  Aeth aeth{};
  Deth deth{};
  Feth feth{};
  std::uint32_t xrc_srq{};    // 24 bits
  std::uint32_t immediate{};  // as a number; the verbs layer turns it into network order
  RKey invalidate{};          // IETH
  friend bool operator==(const Headers&, const Headers&) = default;

  // The BTH and what its opcode says follows it. The bytes after size() are payload, pad and
  // whatever else the caller put there. An opcode that means nothing yields the BTH alone: whether
  // it is acceptable is for the receive handler to say. Reserved bytes of extended headers are
  // not kept.
  static Result<Headers, WireError> decode(Bytes in);
  // The same into headers that lie where they will be used, which spares the data path the copies:
  // fields stored one by one and loaded as words at once make a processor wait. Returns size(),
  // or zero when `in` is too short for the headers it begins.
  [[nodiscard]] static std::size_t decode_into(Bytes in, Headers& to);
  // Writes size() bytes, reserved ones as zero.
  void encode(MutableBytes out) const;
  [[nodiscard]] std::size_t size() const;
};

}  // namespace nerve::wire
