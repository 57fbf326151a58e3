// The extended transport headers as values, and Headers: everything in a packet except its payload.
// The opcode table defines which members of Headers are used; the others keep their defaults, so
// that == compares packets.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/bth.h"
#include "wire/opcode.h"
#include "wire/wire_error.h"

namespace nerve::wire {

// RDMA Extended Transport Header (IBTA 9.3.3): address, key and length of a READ or WRITE.
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
inline constexpr std::size_t kAtomicAckEthSize = 8;  // the value before the atomic operation
inline constexpr std::size_t kImmDtSize = 4;
inline constexpr std::size_t kIethSize = 4;
inline constexpr std::size_t kCnpPadSize = 16;

// BTH, XRCETH and AtomicETH: the largest headers of any packet.
inline constexpr std::size_t kMaxHeadersSize = Bth::kSize + kXrcEthSize + AtomicEth::kSize;

// The number of pad bytes that bring a payload to a multiple of four, as stored in Bth::pad.
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
  std::uint32_t immediate{};  // in host order; the verbs layer converts it to network order
  RKey invalidate{};          // IETH
  friend bool operator==(const Headers&, const Headers&) = default;

  // Decodes the BTH and the extended headers of its opcode. The bytes after size() are payload, pad
  // and whatever else the caller passed. An undefined opcode yields the BTH alone: the receive
  // handler decides whether it is acceptable. Reserved bytes of extended headers are not kept.
  static Result<Headers, WireError> decode(Bytes in);
  // The same, into headers that lie where they will be used. This avoids a copy on the data path,
  // which stalls the processor: fields that were stored one by one would be loaded as whole words
  // right after. Returns size(), or zero when `in` is too short for its headers.
  [[nodiscard]] static std::size_t decode_into(Bytes in, Headers& to);
  // Writes size() bytes; reserved bytes are zero.
  void encode(MutableBytes out) const;
  [[nodiscard]] std::size_t size() const;
};

}  // namespace nerve::wire
