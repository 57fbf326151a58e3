// The interface to a simulated NIC of either kind (RDMA or TCP): numbered connections, messages
// from one end to the other, and the callbacks for them.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/ids.h"

namespace nerve::sim {

using QpNumber = Id<struct QpNumberTag, std::uint32_t, 32>;  // per NIC, from zero

// The two ends of a connection.
struct Joined {
  QpNumber mine{};
  QpNumber theirs{};
};

struct NicMessage {
  QpNumber qp{};
  std::uint32_t bytes{};
  std::uint64_t message{};    // returned when it is acknowledged
  std::uint32_t immediate{};  // delivered to the receiver with the last byte
};

class NicUser {
 public:
  virtual ~NicUser() = default;
  virtual void received(NodeId at, QpNumber qp, std::uint32_t immediate) = 0;
  virtual void sent(NodeId from, std::uint64_t message) = 0;
  // The connection is in the error state: retries are exhausted. May be called several times.
  virtual void failed(NodeId at, QpNumber qp, std::string_view why) = 0;
};

}  // namespace nerve::sim
