// Work requests and completions.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/mask.h"
#include "base/time.h"
#include "nic/handles.h"
#include "nic/memory.h"

namespace nerve::nic {

enum class SendOp : std::uint8_t {
  kSend,
  kSendImm,
  kSendInvalidate,
  kWrite,
  kWriteImm,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kAtomicWrite,
  kFlush,
  kLocalInvalidate,
  kBindMw,
};

enum class SendFlags : std::uint8_t {
  kNone = 0,
  kFence = 1U << 0,
  kSignaled = 1U << 1,
  kSolicited = 1U << 2,
  kInline = 1U << 3,  // the SGEs are pointers of the caller; the bytes are copied by post_send
};

struct MwBind {
  MwHandle window{};
  MrHandle region{};
  std::uint64_t address{};
  std::uint64_t length{};
  Access access{};
  RKey new_rkey{};  // type 2: the caller chooses the low 8 bits; the rest is ignored
};

struct SendWr {
  std::uint64_t wr_id{};
  SendOp op{};
  SendFlags flags{};
  std::span<const Sge> sges{};

  std::uint64_t remote_address{};  // WRITE, READ, atomics, FLUSH
  RKey rkey{};                     // also the key that LOCAL_INV or SEND_INV invalidates
  std::uint32_t immediate{};
  std::uint64_t compare_or_add{};  // CMP_SWP compares with it, FETCH_ADD adds it
  std::uint64_t swap{};
  std::uint32_t flush_length{};
  std::uint8_t flush_placement{};    // wire::Feth
  std::uint8_t flush_selectivity{};  // wire::Feth

  AhHandle ah{};  // UD and GSI
  Qpn remote_qpn{};
  std::uint32_t remote_qkey{};
  std::uint16_t pkey_index{};  // GSI

  std::uint32_t remote_srq{};  // XRC
  MwBind bind{};
};

struct RecvWr {
  std::uint64_t wr_id{};
  std::span<const Sge> sges{};
};

// In the order and with the values of ibv_wc_status.
enum class WcStatus : std::uint8_t {
  kSuccess = 0,
  kLocalLength = 1,
  kLocalQpOperation = 2,
  kLocalEecOperation = 3,
  kLocalProtection = 4,
  kFlushed = 5,
  kMwBind = 6,
  kBadResponse = 7,
  kLocalAccess = 8,
  kRemoteInvalidRequest = 9,
  kRemoteAccess = 10,
  kRemoteOperation = 11,
  kRetryExceeded = 12,
  kRnrRetryExceeded = 13,
  kFatal = 19,
  kGeneral = 21,
};

enum class WcOpcode : std::uint8_t {
  kSend,
  kWrite,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kBindMw,
  kLocalInvalidate,
  kAtomicWrite,
  kFlush,
  kRecv,
  kRecvWriteImm,
};

enum class WcFlags : std::uint8_t {
  kNone = 0,
  kGrh = 1U << 0,
  kImmediate = 1U << 1,
  kInvalidate = 1U << 2,
};

struct Completion {
  std::uint64_t wr_id{};
  WcStatus status{};
  WcOpcode opcode{};
  WcFlags flags{};
  std::uint8_t service_level{};
  std::uint16_t pkey_index{};
  std::uint32_t bytes{};
  std::uint32_t immediate{};  // or the invalidated rkey
  Qpn qpn{};
  Qpn source_qpn{};
  std::uint32_t srq_number{};
  Time at{};
  friend bool operator==(const Completion&, const Completion&) = default;
};

}  // namespace nerve::nic

template <>
inline constexpr bool nerve::kIsMask<nerve::nic::SendFlags> = true;
template <>
inline constexpr bool nerve::kIsMask<nerve::nic::WcFlags> = true;
