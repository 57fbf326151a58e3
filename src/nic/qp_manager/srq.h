// A shared receive queue: one pool of receives for many QPs.
#pragma once

#include <cstdint>

#include "nic/cq_manager/cq_manager.h"
#include "nic/handles.h"
#include "nic/qp_manager/receive_queue.h"

namespace nerve::nic {

struct Srq {
  ReceiveQueue queue;
  SrqHandle handle{};
  PdHandle pd{};
  SrqType type{};
  XrcdHandle xrcd{};
  Cq* cq{};               // kXrc
  std::uint32_t limit{};  // zero: disarmed
  std::uint32_t users{};  // QPs
  EventQueue* events{};   // its first user's
  std::uint64_t cookie{};

  // What an XRC sender names it by.
  [[nodiscard]] std::uint32_t number() const { return handle.index + 1; }
};

struct XrcDomain {
  std::uint32_t users{};
};

}  // namespace nerve::nic
