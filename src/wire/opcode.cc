#include "wire/opcode.h"

#include <array>

#include "wire/headers.h"

namespace nerve::wire {
namespace {

using enum Transport;
using enum Operation;
using enum HeaderSet;
using enum Role;
using enum Position;
using enum LengthRule;

struct HeaderSize {
  HeaderSet header;
  std::size_t bytes;
};
constexpr HeaderSize kHeaderSizes[] = {
    {kDeth, Deth::kSize},
    {kXrcEth, kXrcEthSize},
    {kFeth, Feth::kSize},
    {kReth, Reth::kSize},
    {kAtomicEth, AtomicEth::kSize},
    {kAeth, Aeth::kSize},
    {kAtomicAckEth, kAtomicAckEthSize},
    {kImmDt, kImmDtSize},
    {kIeth, kIethSize},
    {kCnpPad, kCnpPadSize},
};

constexpr std::size_t total(HeaderSet headers) {
  std::size_t bytes = 0;
  for (const HeaderSize& size : kHeaderSizes) {
    if (contains(headers, size.header)) bytes += size.bytes;
  }
  return bytes;
}

struct Row {
  const char* name;
  Transport transport;
  Operation operation;
  Role role;
  Position position;
  HeaderSet headers;
  LengthRule length;
};

// One row for each defined opcode.
// clang-format off
constexpr Row kRows[] = {
    {"RC_SEND_FIRST", kRc, kSendFirst, kRequest, kFirst, kNone, kExactlyMtu},
    {"RC_SEND_MIDDLE", kRc, kSendMiddle, kRequest, kMiddle, kNone, kExactlyMtu},
    {"RC_SEND_LAST", kRc, kSendLast, kRequest, kLast, kNone, kOneToMtu},
    {"RC_SEND_LAST_IMM", kRc, kSendLastImm, kRequest, kLast, kImmDt, kOneToMtu},
    {"RC_SEND_ONLY", kRc, kSendOnly, kRequest, kOnly, kNone, kUpToMtu},
    {"RC_SEND_ONLY_IMM", kRc, kSendOnlyImm, kRequest, kOnly, kImmDt, kUpToMtu},
    {"RC_WRITE_FIRST", kRc, kWriteFirst, kRequest, kFirst, kReth, kExactlyMtu},
    {"RC_WRITE_MIDDLE", kRc, kWriteMiddle, kRequest, kMiddle, kNone, kExactlyMtu},
    {"RC_WRITE_LAST", kRc, kWriteLast, kRequest, kLast, kNone, kOneToMtu},
    {"RC_WRITE_LAST_IMM", kRc, kWriteLastImm, kRequest, kLast, kImmDt, kOneToMtu},
    {"RC_WRITE_ONLY", kRc, kWriteOnly, kRequest, kOnly, kReth, kUpToMtu},
    {"RC_WRITE_ONLY_IMM", kRc, kWriteOnlyImm, kRequest, kOnly, kReth | kImmDt, kUpToMtu},
    {"RC_READ_REQUEST", kRc, kReadRequest, kRequest, kOnly, kReth, kNoPayload},
    {"RC_READ_RESPONSE_FIRST", kRc, kReadResponseFirst, kResponse, kFirst, kAeth, kExactlyMtu},
    {"RC_READ_RESPONSE_MIDDLE", kRc, kReadResponseMiddle, kResponse, kMiddle, kNone, kExactlyMtu},
    {"RC_READ_RESPONSE_LAST", kRc, kReadResponseLast, kResponse, kLast, kAeth, kOneToMtu},
    {"RC_READ_RESPONSE_ONLY", kRc, kReadResponseOnly, kResponse, kOnly, kAeth, kUpToMtu},
    {"RC_ACKNOWLEDGE", kRc, kAcknowledge, kResponse, kOnly, kAeth, kNoPayload},
    {"RC_ATOMIC_ACKNOWLEDGE", kRc, kAtomicAcknowledge, kResponse, kOnly, kAeth | kAtomicAckEth,
     kNoPayload},
    {"RC_COMPARE_SWAP", kRc, kCompareSwap, kRequest, kOnly, kAtomicEth, kNoPayload},
    {"RC_FETCH_ADD", kRc, kFetchAdd, kRequest, kOnly, kAtomicEth, kNoPayload},
    {"RC_SEND_LAST_INVALIDATE", kRc, kSendLastInvalidate, kRequest, kLast, kIeth, kOneToMtu},
    {"RC_SEND_ONLY_INVALIDATE", kRc, kSendOnlyInvalidate, kRequest, kOnly, kIeth, kUpToMtu},
    {"RC_FLUSH", kRc, kFlush, kRequest, kOnly, kFeth | kReth, kNoPayload},
    {"RC_ATOMIC_WRITE", kRc, kAtomicWrite, kRequest, kOnly, kReth, kEightBytes},

    {"UC_SEND_FIRST", kUc, kSendFirst, kRequest, kFirst, kNone, kExactlyMtu},
    {"UC_SEND_MIDDLE", kUc, kSendMiddle, kRequest, kMiddle, kNone, kExactlyMtu},
    {"UC_SEND_LAST", kUc, kSendLast, kRequest, kLast, kNone, kOneToMtu},
    {"UC_SEND_LAST_IMM", kUc, kSendLastImm, kRequest, kLast, kImmDt, kOneToMtu},
    {"UC_SEND_ONLY", kUc, kSendOnly, kRequest, kOnly, kNone, kUpToMtu},
    {"UC_SEND_ONLY_IMM", kUc, kSendOnlyImm, kRequest, kOnly, kImmDt, kUpToMtu},
    {"UC_WRITE_FIRST", kUc, kWriteFirst, kRequest, kFirst, kReth, kExactlyMtu},
    {"UC_WRITE_MIDDLE", kUc, kWriteMiddle, kRequest, kMiddle, kNone, kExactlyMtu},
    {"UC_WRITE_LAST", kUc, kWriteLast, kRequest, kLast, kNone, kOneToMtu},
    {"UC_WRITE_LAST_IMM", kUc, kWriteLastImm, kRequest, kLast, kImmDt, kOneToMtu},
    {"UC_WRITE_ONLY", kUc, kWriteOnly, kRequest, kOnly, kReth, kUpToMtu},
    {"UC_WRITE_ONLY_IMM", kUc, kWriteOnlyImm, kRequest, kOnly, kReth | kImmDt, kUpToMtu},

    {"UD_SEND_ONLY", kUd, kSendOnly, kRequest, kOnly, kDeth, kUpToMtu},
    {"UD_SEND_ONLY_IMM", kUd, kSendOnlyImm, kRequest, kOnly, kDeth | kImmDt, kUpToMtu},

    // XRC is RC with an XRCETH directly after the BTH of every request, which names the receiver's
    // SRQ (A14).
    {"XRC_SEND_FIRST", kXrc, kSendFirst, kRequest, kFirst, kXrcEth, kExactlyMtu},
    {"XRC_SEND_MIDDLE", kXrc, kSendMiddle, kRequest, kMiddle, kXrcEth, kExactlyMtu},
    {"XRC_SEND_LAST", kXrc, kSendLast, kRequest, kLast, kXrcEth, kOneToMtu},
    {"XRC_SEND_LAST_IMM", kXrc, kSendLastImm, kRequest, kLast, kXrcEth | kImmDt, kOneToMtu},
    {"XRC_SEND_ONLY", kXrc, kSendOnly, kRequest, kOnly, kXrcEth, kUpToMtu},
    {"XRC_SEND_ONLY_IMM", kXrc, kSendOnlyImm, kRequest, kOnly, kXrcEth | kImmDt, kUpToMtu},
    {"XRC_WRITE_FIRST", kXrc, kWriteFirst, kRequest, kFirst, kXrcEth | kReth, kExactlyMtu},
    {"XRC_WRITE_MIDDLE", kXrc, kWriteMiddle, kRequest, kMiddle, kXrcEth, kExactlyMtu},
    {"XRC_WRITE_LAST", kXrc, kWriteLast, kRequest, kLast, kXrcEth, kOneToMtu},
    {"XRC_WRITE_LAST_IMM", kXrc, kWriteLastImm, kRequest, kLast, kXrcEth | kImmDt, kOneToMtu},
    {"XRC_WRITE_ONLY", kXrc, kWriteOnly, kRequest, kOnly, kXrcEth | kReth, kUpToMtu},
    {"XRC_WRITE_ONLY_IMM", kXrc, kWriteOnlyImm, kRequest, kOnly, kXrcEth | kReth | kImmDt,
     kUpToMtu},
    {"XRC_READ_REQUEST", kXrc, kReadRequest, kRequest, kOnly, kXrcEth | kReth, kNoPayload},
    {"XRC_READ_RESPONSE_FIRST", kXrc, kReadResponseFirst, kResponse, kFirst, kAeth, kExactlyMtu},
    {"XRC_READ_RESPONSE_MIDDLE", kXrc, kReadResponseMiddle, kResponse, kMiddle, kNone, kExactlyMtu},
    {"XRC_READ_RESPONSE_LAST", kXrc, kReadResponseLast, kResponse, kLast, kAeth, kOneToMtu},
    {"XRC_READ_RESPONSE_ONLY", kXrc, kReadResponseOnly, kResponse, kOnly, kAeth, kUpToMtu},
    {"XRC_ACKNOWLEDGE", kXrc, kAcknowledge, kResponse, kOnly, kAeth, kNoPayload},
    {"XRC_ATOMIC_ACKNOWLEDGE", kXrc, kAtomicAcknowledge, kResponse, kOnly, kAeth | kAtomicAckEth,
     kNoPayload},
    {"XRC_COMPARE_SWAP", kXrc, kCompareSwap, kRequest, kOnly, kXrcEth | kAtomicEth, kNoPayload},
    {"XRC_FETCH_ADD", kXrc, kFetchAdd, kRequest, kOnly, kXrcEth | kAtomicEth, kNoPayload},
    {"XRC_SEND_LAST_INVALIDATE", kXrc, kSendLastInvalidate, kRequest, kLast, kXrcEth | kIeth,
     kOneToMtu},
    {"XRC_SEND_ONLY_INVALIDATE", kXrc, kSendOnlyInvalidate, kRequest, kOnly, kXrcEth | kIeth,
     kUpToMtu},
    {"XRC_FLUSH", kXrc, kFlush, kRequest, kOnly, kXrcEth | kFeth | kReth, kNoPayload},
    {"XRC_ATOMIC_WRITE", kXrc, kAtomicWrite, kRequest, kOnly, kXrcEth | kReth, kEightBytes},

    {"CNP", kCnp, operation_of(kCnpOpcode), kNotification, kOnly, kCnpPad, kNoPayload},
};
// clang-format on

constexpr auto kTable = [] {
  std::array<OpcodeInfo, 256> table{};
  for (const Row& row : kRows) {
    table[opcode(row.transport, row.operation)] = {
        .name = row.name,
        .transport = row.transport,
        .operation = row.operation,
        .role = row.role,
        .position = row.position,
        .headers = row.headers,
        .length = row.length,
        .extended_bytes = static_cast<std::uint8_t>(total(row.headers)),
    };
  }
  return table;
}();

}  // namespace

const OpcodeInfo* find_opcode(Opcode code) {
  const OpcodeInfo& info = kTable[code];
  return info.name != nullptr ? &info : nullptr;
}

std::size_t size_of(HeaderSet headers) { return total(headers); }

}  // namespace nerve::wire
