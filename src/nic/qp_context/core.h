// What all modules of an engine use. Each of them holds one reference to it: a driver of thousands
// of engines waits for the memory of each, so an engine should touch few cache lines per packet.
#pragma once

#include "base/time.h"
#include "nic/config.h"
#include "nic/counters.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/qp_context/scheduler.h"

namespace nerve::nic {

struct alignas(64) Core {
  const NicConfig& config;
  Counters& counters;
  DmaEngine& dma;
  EgressGate* gate;
  Trace* trace;
  DirectPath* direct_path;
  Time now{};  // as of the last call that passed it
  Scheduler scheduler{};
  LateMemory* late_memory;
};

}  // namespace nerve::nic
