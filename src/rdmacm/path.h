// The path of a connection, and parameters that we choose.
#pragma once

#include <cstdint>

#include "rdmacm/identifier.h"

namespace nerve::rdmacm {

inline constexpr std::uint8_t kHopLimit = 64;
inline constexpr std::uint8_t kExactly = 2;          // a selector of the path record
inline constexpr std::uint8_t kRate = 3;             // 10 Gb/s as IBTA encodes it; not used
inline constexpr std::uint8_t kPacketLifeTime = 15;  // 134 ms
// The ACK timeout of a QP: 4.096 us x 2^16, a quarter of a second. Twice the packet lifetime, as
// the standard specifies.
inline constexpr std::uint8_t kAckTimeout = 16;
inline constexpr std::uint8_t kMinRnrTimer = 12;  // 0.64 ms
// The Q_Key of UD QPs created through rdma_cm (RDMA_UDP_QKEY).
inline constexpr std::uint32_t kUdpQkey = 0x0123'4567;

inline constexpr std::uint8_t kUcQp = 3;  // IB_QPT_UC in the kernel

// Encoded as in the path record and the REQ: 1 is 256 bytes, 5 is 4096.
[[nodiscard]] inline std::uint8_t path_mtu_of(const Identifier& id) {
  switch (id.port.adapter ? id.port.adapter->device().active_mtu : nic::Mtu::k1024) {
    case nic::Mtu::k256:
      return 1;
    case nic::Mtu::k512:
      return 2;
    case nic::Mtu::k1024:
      return 3;
    case nic::Mtu::k2048:
      return 4;
    case nic::Mtu::k4096:
      return 5;
  }
  return 3;
}

}  // namespace nerve::rdmacm
