// The events of a cluster that are not packets: what the subject of a Happening::kTask says.
#pragma once

#include <cstdint>

namespace nerve::sim {

enum class ClusterTask : std::uint8_t {
  kStart,    // argument: a job
  kTimer,    // a timer that a job has set
  kSlice,    // a transfer whose slice has left a GPU
  kCrossed,  // a message of which a slice has crossed the interconnect
  kStored,   // a message that the disk has taken
};

}  // namespace nerve::sim
