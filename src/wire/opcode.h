// The opcode table: the headers, role and length rule of each BTH opcode. No other file encodes
// these facts (IBTA vol. 1, 9.2.1 and table "OpCode field").
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mask.h"

namespace nerve::wire {

// The upper three bits of an opcode.
enum class Transport : std::uint8_t { kRc = 0, kUc = 1, kUd = 3, kCnp = 4, kXrc = 5 };

// The lower five bits. A number stands for the same operation on every transport that has it.
enum class Operation : std::uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImm = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImm = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImm = 0x09,
  kWriteOnly = 0x0a,
  kWriteOnlyImm = 0x0b,
  kReadRequest = 0x0c,
  kReadResponseFirst = 0x0d,
  kReadResponseMiddle = 0x0e,
  kReadResponseLast = 0x0f,
  kReadResponseOnly = 0x10,
  kAcknowledge = 0x11,
  kAtomicAcknowledge = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kSendLastInvalidate = 0x16,
  kSendOnlyInvalidate = 0x17,
  kFlush = 0x1c,
  kAtomicWrite = 0x1d,
};

using Opcode = std::uint8_t;  // as on the wire; the table lists the defined values

constexpr Opcode opcode(Transport transport, Operation operation) {
  return static_cast<Opcode>(static_cast<unsigned>(transport) << 5U |
                             static_cast<unsigned>(operation));
}
constexpr Transport transport_of(Opcode code) { return static_cast<Transport>(code >> 5U); }
constexpr Operation operation_of(Opcode code) { return static_cast<Operation>(code & 0x1fU); }

// A CNP has no operation: 0x81 is the whole opcode.
inline constexpr Opcode kCnpOpcode = 0x81;

// Extended headers, in the order in which they follow the BTH.
enum class HeaderSet : std::uint16_t {
  kNone = 0,
  kDeth = 1U << 0,
  kXrcEth = 1U << 1,
  kFeth = 1U << 2,
  kReth = 1U << 3,
  kAtomicEth = 1U << 4,
  kAeth = 1U << 5,
  kAtomicAckEth = 1U << 6,
  kImmDt = 1U << 7,
  kIeth = 1U << 8,
  kCnpPad = 1U << 9,  // the sixteen reserved bytes of a CNP
};

enum class Role : std::uint8_t { kRequest, kResponse, kNotification };

// The position of a packet in its message.
enum class Position : std::uint8_t { kFirst, kMiddle, kLast, kOnly };

enum class LengthRule : std::uint8_t {
  kNoPayload,   // the packet consists of headers
  kExactlyMtu,  // a first or middle packet
  kOneToMtu,    // a last packet, which is never empty
  kUpToMtu,     // an only packet
  kEightBytes,  // the value of an atomic write
};

struct OpcodeInfo {
  const char* name;  // "RC_SEND_FIRST"; null when the opcode is undefined
  Transport transport;
  Operation operation;
  Role role;
  Position position;
  HeaderSet headers;
  LengthRule length;
  std::uint8_t extended_bytes;  // size_of(headers), precomputed for the data path
};

// Null when the standard does not define the opcode.
[[nodiscard]] const OpcodeInfo* find_opcode(Opcode code);

// Size of the extended headers in `headers`, without the BTH.
[[nodiscard]] std::size_t size_of(HeaderSet headers);

}  // namespace nerve::wire

template <>
inline constexpr bool nerve::kIsMask<nerve::wire::HeaderSet> = true;
