// A turn: what one process of the user does at a time. Ends when the value is destroyed, or the
// process dies.
//
// It is an abstract name, which only one process can hold. A stranger can hold it too, so where
// there is a private folder, a lock there decides, and a name that remains taken is ignored.
#pragma once

#include <cstdint>

#include "host/peers/mapping.h"

namespace nerve::host {

enum class TurnTo : std::uint8_t {
  kJoin,            // choose a slot
  kMakePorts,       // create the table of rdma_cm's ports
  kMakeStatistics,  // create the table of counters, or change what all processes share there
  kSteer,           // be the agent of a controller of paths (cli/agent.h)
};

class Turn {
 public:
  Turn() = default;
  // Does not wait for other processes of ours. False, with EADDRINUSE, if one has it.
  [[nodiscard]] static Turn take(TurnTo what);

  explicit operator bool() const { return lock_ || name_; }

 private:
  Descriptor lock_;
  Descriptor name_;
};

}  // namespace nerve::host
