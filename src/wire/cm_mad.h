// One management datagram of the communication manager: 256 bytes to QP1 and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/cm_messages.h"
#include "wire/mad.h"
#include "wire/wire_error.h"

namespace nerve::wire {

inline constexpr std::uint8_t kCmClass = 0x07;
inline constexpr std::uint8_t kCmClassVersion = 2;
inline constexpr std::uint8_t kCmMethodSend = 0x03;  // the only method that CM messages use
// The well-known Q_Key of QP1.
inline constexpr std::uint32_t kGsiQkey = 0x8001'0000;

// LAP and APR, which move a connection to another path, are missing: an Ethernet port has no
// alternate path.
using CmMessage =
    std::variant<CmReq, CmMra, CmRej, CmRep, CmRtu, CmDreq, CmDrep, CmSidrReq, CmSidrRep>;

struct CmMad {
  static constexpr std::size_t kSize = kMadSize;

  std::uint64_t transaction_id{};  // a reply carries the id of the message it answers
  CmMessage message{};

  // Returns kTruncated below 256 bytes, kBadField for a MAD of another class, and kUnsupported for
  // LAP, APR and undefined attributes. Bytes after the first 256 are ignored.
  static Result<CmMad, WireError> decode(Bytes in);
  void encode(std::span<std::byte, kSize> out) const;
  friend bool operator==(const CmMad&, const CmMad&) = default;
};

[[nodiscard]] CmAttribute attribute_of(const CmMessage& message);
[[nodiscard]] const char* to_string(CmAttribute attribute);

}  // namespace nerve::wire
