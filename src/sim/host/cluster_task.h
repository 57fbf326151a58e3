// Events of a cluster that are not packets: the subject of a Happening::kTask.
#pragma once

#include <cstdint>

namespace nerve::sim {

enum class ClusterTask : std::uint8_t {
  kStart,    // argument: a job
  kTimer,    // argument: a timer set by a job
  kBegin,    // argument: a message that was planned for this time, and crosses the interconnect
  kSlice,    // argument: a transfer whose slice has left a GPU
  kCrossed,  // argument: a message of which a slice has crossed the interconnect
  kStored,   // argument: a message that the disk has stored
};

}  // namespace nerve::sim
