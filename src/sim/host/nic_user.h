// What the user of a simulated NIC sees of it, whatever is inside: connections with a number each,
// messages that go in at one end and come out at the other, and who is told of them.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/ids.h"

namespace nerve::sim {

using QpNumber = Id<struct QpNumberTag, std::uint32_t, 32>;  // of one NIC, from zero

// Two ends that are connected to each other.
struct Joined {
  QpNumber mine{};
  QpNumber theirs{};
};

struct NicMessage {
  QpNumber qp{};
  std::uint32_t bytes{};
  std::uint64_t message{};    // comes back when it is acknowledged
  std::uint32_t immediate{};  // reaches the other side with the last byte
};

class NicUser {
 public:
  virtual ~NicUser() = default;
  virtual void received(NodeId at, QpNumber qp, std::uint32_t immediate) = 0;
  virtual void sent(NodeId from, std::uint64_t message) = 0;
  // The connection is in error and will carry nothing more: the network let none of its packets
  // through. May be said several times.
  virtual void failed(NodeId at, QpNumber qp, std::string_view why) = 0;
};

}  // namespace nerve::sim
