// Numeric codes in CM messages (IBTA vol. 1, chapter 12). A code from the wire may have a value
// outside these enums.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace nerve::wire {

// Identifies a connection at one end; each side chooses its own.
using CommId = Id<struct CommIdTag, std::uint32_t, 32>;
// The listener that a REQ addresses. rdma_cm encodes a port space and a port number in it.
enum class ServiceId : std::uint64_t {};

// The attribute id of the MAD.
enum class CmAttribute : std::uint16_t {
  kReq = 0x10,
  kMra = 0x11,
  kRej = 0x12,
  kRep = 0x13,
  kRtu = 0x14,
  kDreq = 0x15,
  kDrep = 0x16,
  kSidrReq = 0x17,
  kSidrRep = 0x18,
  kLap = 0x19,
  kApr = 0x1a,
};

// Two bits of a REQ. With kExtended, the extended transport type names the transport.
enum class CmTransport : std::uint8_t { kRc = 0, kUc = 1, kRd = 2, kExtended = 3 };
enum class CmExtendedTransport : std::uint8_t { kNone = 0, kXrc = 1 };

// The message to which an MRA or a REJ refers.
enum class CmSubject : std::uint8_t { kReq = 0, kRep = 1, kOther = 2 };

enum class CmFailover : std::uint8_t { kAccepted = 0, kUnsupported = 1, kRejected = 2 };

// The reason in a REJ (12.6.7.2).
enum class RejectReason : std::uint16_t {
  kNoQp = 1,
  kNoEec = 2,
  kNoResources = 3,
  kTimeout = 4,
  kUnsupportedRequest = 5,
  kInvalidCommId = 6,
  kInvalidCommInstance = 7,
  kInvalidServiceId = 8,
  kInvalidTransport = 9,
  kStaleConnection = 10,
  kNoRdc = 11,
  kPrimaryGid = 12,
  kPrimaryLid = 13,
  kPrimarySl = 14,
  kPrimaryTrafficClass = 15,
  kPrimaryHopLimit = 16,
  kPrimaryPacketRate = 17,
  kAlternateGid = 18,
  kAlternateLid = 19,
  kAlternateSl = 20,
  kAlternateTrafficClass = 21,
  kAlternateHopLimit = 22,
  kAlternatePacketRate = 23,
  kRedirectCm = 24,
  kRedirectPort = 25,
  kInvalidMtu = 26,
  kInsufficientResponderResources = 27,
  kConsumer = 28,
  kRnrRetry = 29,
  kDuplicateLocalCommId = 30,
  kInvalidClassVersion = 31,
  kPrimaryFlowLabel = 32,
  kAlternateFlowLabel = 33,
};

enum class SidrStatus : std::uint8_t {
  kValid = 0,
  kUnsupportedService = 1,
  kRejected = 2,
  kNoQp = 3,
  kRedirected = 4,
  kUnsupportedVersion = 5,
};

}  // namespace nerve::wire
