// A shared receive queue: one pool of receives for many QPs.
#pragma once

#include <cstdint>

#include "nic/cq_manager/cq_manager.h"
#include "nic/handles.h"
#include "nic/qp_context/receive_queue.h"

namespace nerve::nic {

struct Srq {
  ReceiveQueue queue;
  SrqHandle handle{};
  PdHandle pd{};
  SrqType type{};
  XrcdHandle xrcd{};
  Cq* cq{};               // kXrc
  std::uint32_t limit{};  // zero: disarmed
  std::uint32_t users{};  // number of QPs
  EventQueue* events{};   // of its first user
  std::uint64_t cookie{};

  // The SRQ number that XRC senders use.
  [[nodiscard]] std::uint32_t number() const { return handle.index + 1; }
};

struct XrcDomain {
  std::uint32_t users{};
};

}  // namespace nerve::nic
