// What the engine has to tell without being asked.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "nic/handles.h"

namespace nerve::nic {

enum class EventKind : std::uint8_t {
  kCompletion,  // an armed CQ has something to poll
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

struct Event {
  EventKind kind{};
  std::uint64_t cookie{};  // the one given when the object was created; zero for the port
  CqHandle cq{};
  QpHandle qp{};
  SrqHandle srq{};
  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace nerve::nic
