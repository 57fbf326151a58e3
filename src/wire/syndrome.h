// The AETH syndrome byte (IBTA 9.7.5.2.1): the kind of acknowledgement, and five bits of detail.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace nerve::wire {

enum class AckKind : std::uint8_t { kAck = 0, kRnrNak = 1, kReserved = 2, kNak = 3 };

enum class NakCode : std::uint8_t {
  kSequence = 0,
  kInvalidRequest = 1,
  kRemoteAccess = 2,
  kRemoteOperation = 3,
  kInvalidRdRequest = 4,
  // Reserved by the standard and used between ends that agree on it (selective_nak.h). They lie in
  // the middle of the reserved codes, away from the next one that the standard may assign.
  kSelective = 16,
  kSelectiveRun = 17,
  kTrimmed = 18,  // ultra_ethernet.h
  kReceiverCredit = 19,
};

// Credit code 31: the responder does not advertise receive credits.
inline constexpr std::uint8_t kCreditsUnknown = 31;

constexpr AckKind kind_of(std::uint8_t syndrome) {
  return static_cast<AckKind>(syndrome >> 5U & 3U);
}
constexpr std::uint8_t value_of(std::uint8_t syndrome) { return syndrome & 0x1fU; }
constexpr std::uint8_t syndrome(AckKind kind, std::uint8_t value) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 5U | (value & 0x1fU));
}
constexpr std::uint8_t syndrome(NakCode code) {
  return syndrome(AckKind::kNak, static_cast<std::uint8_t>(code));
}

// The number of receives that a credit code advertises; nullopt for kCreditsUnknown (IBTA table
// 46).
[[nodiscard]] std::optional<std::uint32_t> credits_of(std::uint8_t code);
// The largest code that advertises no more than `receives`.
[[nodiscard]] std::uint8_t credit_code(std::uint32_t receives);

// The wait that an RNR NAK timer code asks for (IBTA table 45); code 0 is the longest.
[[nodiscard]] Duration rnr_delay(std::uint8_t code);

// The local ACK timeout of a QP attribute: 4.096 us * 2^exponent; zero means "never".
[[nodiscard]] std::optional<Duration> ack_timeout(std::uint8_t exponent);

}  // namespace nerve::wire
