// The fields of a management datagram that a trace shows. They are not validated.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/headers.h"

namespace nerve::wire {

struct MadPeek {
  static constexpr std::size_t kSize = 256;  // every MAD on QP1 is this long
  static constexpr std::uint8_t kCmClass = 0x07;

  std::uint8_t management_class{};
  std::uint8_t method{};
  std::uint64_t transaction{};
  std::uint16_t attribute{};
};

// The datagram in the payload of a packet to QP1; nullopt when it cannot be one.
[[nodiscard]] inline std::optional<MadPeek> peek_mad(const Headers& headers, Bytes payload) {
  const OpcodeInfo* info = find_opcode(headers.bth.opcode);
  if (info == nullptr || info->transport != Transport::kUd) return std::nullopt;
  if (headers.bth.dest_qp != Qpn{1} || payload.size() != MadPeek::kSize) return std::nullopt;
  return MadPeek{.management_class = static_cast<std::uint8_t>(payload[1]),
                 .method = static_cast<std::uint8_t>(payload[3]),
                 .transaction = load_be<8>(payload, 8),
                 .attribute = static_cast<std::uint16_t>(load_be<2>(payload, 16))};
}

}  // namespace nerve::wire
