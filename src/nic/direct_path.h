// A way past the wire for engines that can reach each other's memory: two processes of one host.
//
// A small WRITE or READ on a connection that is otherwise quiet may be carried out by the requester
// itself, so that it completes while the target's threads never call into the library. The rights
// are the target's: each engine offers its regions and QPs, and a direct path acts only within
// what is on offer. What it cannot do takes the long way, which knows every error.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "nic/memory.h"
#include "wire/frame.h"

namespace nerve::nic {

class DirectPath {
 public:
  virtual ~DirectPath() = default;

  // What the packet would say.
  struct Place {
    const wire::Flow& flow;
    Qpn from;
    Qpn to;
    RKey key;
    std::uint64_t address;
  };
  // True when it is done, wholly. False changes nothing.
  virtual bool write(const Place& place, std::span<const wire::Piece> payload) = 0;
  virtual bool read(const Place& place, MutableBytes into) = 0;
  // Whether it is better than packets also for a request of this length with others behind it: when
  // CPUs are contended, what the requester does itself need not wait for a CPU at the target.
  [[nodiscard]] virtual bool is_better_for(std::uint32_t length) const = 0;

  // What peers may do here. Offering anew replaces; when withdraw() returns, nobody acts on it any
  // more. Only memory that is a pointer is offered.
  struct Region {
    std::uint64_t start{};  // as peers name its first byte
    std::uint64_t length{};
    std::uint64_t address{};
    Access access{};
    PdHandle pd{};
  };
  virtual void offer(RKey key, const Region& region) = 0;
  virtual void withdraw(RKey key) = 0;

  // A connection that takes requests.
  struct Connection {
    wire::Flow flow{};  // to the peer
    Qpn peer{};
    Access access{};
    PdHandle pd{};
  };
  virtual void offer(Qpn qpn, const Connection& connection) = 0;
  virtual void withdraw(Qpn qpn) = 0;
};

}  // namespace nerve::nic
