// Attributes of queue pairs and other objects, for create, modify and query.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/mask.h"
#include "base/rate.h"
#include "nic/address.h"
#include "nic/handles.h"
#include "nic/memory.h"

namespace nerve::nic {

enum class QpType : std::uint8_t { kRc, kUc, kUd, kXrcSend, kXrcRecv, kGsi };

enum class QpState : std::uint8_t { kReset, kInit, kRtr, kRts, kSqd, kSqe, kErr };

enum class QpAttrs : std::uint32_t {
  kNone = 0,
  kPkeyIndex = 1U << 0,
  kPort = 1U << 1,
  kAccess = 1U << 2,
  kQkey = 1U << 3,
  kPath = 1U << 4,
  kPathMtu = 1U << 5,
  kDestQp = 1U << 6,
  kRqPsn = 1U << 7,
  kMaxDestRead = 1U << 8,
  kMinRnrTimer = 1U << 9,
  kSqPsn = 1U << 10,
  kTimeout = 1U << 11,
  kRetryCount = 1U << 12,
  kRnrRetry = 1U << 13,
  kMaxRead = 1U << 14,
  kSqdNotify = 1U << 15,
  kAltPath = 1U << 16,
  kPathMigState = 1U << 17,
  kRateLimit = 1U << 18,
  kCurState = 1U << 19,
  kCaps = 1U << 20,
};

// Path MTU in bytes of payload per packet.
enum class Mtu : std::uint16_t { k256 = 256, k512 = 512, k1024 = 1024, k2048 = 2048, k4096 = 4096 };
constexpr std::uint32_t bytes(Mtu mtu) { return static_cast<std::uint32_t>(mtu); }

struct QpCaps {
  std::uint32_t max_send_wr{1};
  std::uint32_t max_recv_wr{1};
  std::uint32_t max_send_sge{1};
  std::uint32_t max_recv_sge{1};
  std::uint32_t max_inline{0};
  friend bool operator==(const QpCaps&, const QpCaps&) = default;
};

struct QpInit {
  QpType type{};
  PdHandle pd{};
  CqHandle send_cq{};
  CqHandle recv_cq{};
  SrqHandle srq{};    // optional; RC, UD
  XrcdHandle xrcd{};  // kXrcRecv
  QpCaps caps{};
  bool signal_all{};
  bool plain{};  // RC, UC: takes less memory, but no atomics, FLUSHes or binds
  std::uint64_t cookie{};
};

struct QpAttributes {
  std::uint16_t pkey_index{};
  std::uint8_t port{1};
  Access access{};
  std::uint32_t qkey{};
  AddressVector path{};
  Mtu path_mtu{Mtu::k1024};
  Qpn dest_qp{};
  Psn rq_psn{};
  Psn sq_psn{};
  Rate rate_limit{};             // zero: none
  std::uint8_t max_dest_read{};  // responder resources
  std::uint8_t max_read{};       // initiator depth
  std::uint8_t min_rnr_timer{};  // a timer code, not a time
  std::uint8_t timeout{};        // exponent of 4.096 us; 0 = never
  std::uint8_t retry_count{};
  std::uint8_t rnr_retry{};  // 7 = no limit
  bool sqd_notify{};
  QpState cur_state{};
  friend bool operator==(const QpAttributes&, const QpAttributes&) = default;
};

// The condition that a QP waits for before it sends its next request packet.
enum class SendWait : std::uint8_t {
  kNothing,   // it sends on its next turn
  kProgram,   // nothing is posted, or the send queue is stopped (SQD)
  kAnswer,    // window, credits, read depth, fence, or a fault behind outstanding requests
  kRnrTimer,  // the peer had no receive posted
  kPacer,     // rate limit or congestion control
  kPath,      // the link has no room for it (EgressGate)
  kMemory,    // late memory has not supplied the packet's bytes
};

// The state of the send queue, for diagnosis.
struct SendProgress {
  std::uint32_t unacknowledged{};  // request packets sent and not yet acknowledged
  bool ack_requested{};            // the last of them carried an ACK request
  SendWait waits_for{};
};

struct QpQuery {
  QpState state{};
  bool sq_draining{};
  QpAttributes attributes{};
  QpCaps caps{};
  Qpn qpn{};
  QpType type{};
  SendProgress sends{};  // valid while the QP can send
};

struct CqInit {
  std::uint32_t depth{1};
  std::uint64_t cookie{};
  bool ignore_overrun{};
};

enum class SrqType : std::uint8_t { kBasic, kXrc };

struct SrqInit {
  PdHandle pd{};
  SrqType type{};
  std::uint32_t max_wr{1};
  std::uint32_t max_sge{1};
  std::uint32_t limit{};
  XrcdHandle xrcd{};  // kXrc
  CqHandle cq{};      // kXrc: receives its completions
  std::uint64_t cookie{};
};

struct SrqQuery {
  std::uint32_t max_wr{};
  std::uint32_t max_sge{};
  std::uint32_t limit{};
  std::uint32_t number{};
};

}  // namespace nerve::nic

template <>
inline constexpr bool nerve::kIsMask<nerve::nic::QpAttrs> = true;
