// A path without packets between engines that can access each other's memory: two processes of one
// host.
//
// On an otherwise idle connection the requester may execute a WRITE or READ itself, so that
// it completes without a call into the library by the target's threads. The target's access rights
// apply: each engine registers its regions and QPs with the direct path, which acts only within
// them. A request that it cannot execute is sent as packets, and that path handles every error.
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

  // The addressing of the request, as its packet would have it.
  struct Place {
    const wire::Flow& flow;
    Qpn from;
    Qpn to;
    RKey key;
    std::uint64_t address;
  };
  // Returns true when the whole operation is done. On false, nothing has changed.
  virtual bool write(const Place& place, std::span<const wire::Piece> payload) = 0;
  virtual bool read(const Place& place, MutableBytes into) = 0;
  // The same for late memory on both sides (base/late_memory.h). These only begin the operation,
  // which counts as a write to late memory: it is done when that has landed.
  virtual bool begin_write(const Place& /*place*/, const wire::Piece& /*from*/) { return false; }
  virtual bool begin_read(const Place& /*place*/, const wire::Piece& /*into*/) { return false; }
  // Whether it is better than packets even for a request of this length with others queued behind
  // it: when CPUs are contended, the requester need not wait for a CPU at the target.
  [[nodiscard]] virtual bool is_better_for(std::uint32_t length) const = 0;

  // Registers memory that peers may access. Registering again replaces. When withdraw() returns, no
  // peer uses the registration any more. Only host memory and late memory are registered.
  struct Region {
    std::uint64_t start{};  // the address that peers use for its first byte
    std::uint64_t length{};
    std::uint64_t address{};
    Access access{};
    PdHandle pd{};
    bool late{};
  };
  virtual void offer(RKey key, const Region& region) = 0;
  virtual void withdraw(RKey key) = 0;

  // A connection that accepts requests.
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
