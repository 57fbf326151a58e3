// Completion and asynchronous events of an engine.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "nic/handles.h"

namespace nerve::nic {

enum class EventKind : std::uint8_t {
  kCompletion,  // an armed CQ has completions to poll
  // Asynchronous events, by ibv_event_type.
  kCqError,
  kQpFatal,
  kQpRequestError,
  kQpAccessError,
  kCommEstablished,
  kSqDrained,
  kPathMigrated,
  kPathMigrationError,
  kDeviceFatal,
  kPortActive,
  kPortError,
  kSrqError,
  kSrqLimitReached,
  kQpLastWqeReached,
  kGidChange,
  kPkeyChange,
};

// A request was refused because its payload does not fit the path MTU of this end: most likely the
// peer has another one.
struct MtuMismatch {
  Qpn qpn{};
  std::uint32_t payload{};  // of the refused packet
  std::uint32_t mtu{};      // of the QP
  friend bool operator==(const MtuMismatch&, const MtuMismatch&) = default;
};

struct Event {
  EventKind kind{};
  std::uint64_t cookie{};  // as given when the object was created; zero for the port
  CqHandle cq{};
  QpHandle qp{};
  SrqHandle srq{};
  std::optional<MtuMismatch> mismatch{};  // with some kQpRequestError
  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace nerve::nic
