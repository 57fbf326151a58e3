// The events and packets of a part of the simulation. One thread at a time uses them.
#pragma once

#include "sim/core/event_wheel.h"
#include "sim/core/packet.h"

namespace nerve::sim {

enum class Happening : std::uint8_t {
  kArrive,     // subject: the port; argument: the packet whose last byte (or head) has arrived
  kPortFree,   // subject: the port that has sent its packet
  kPause,      // subject: the port to pause or resume; argument: fabric.cc's pause_word()
  kCredit,     // subject: the port that gets credit; argument: fabric.cc's credit_word()
  kNicTimer,   // subject: the NIC
  kTcp,        // subject: a NIC of a TCP host; argument: belongs to tcp_nic
  kNicPacket,  // subject: the NIC; argument: a packet that was delayed in it
  kPost,       // subject: the NIC; argument: a message for it, of its part
  kWatchdog,   // subject: a port that was paused; argument: the traffic class
  kFlow,       // subject and argument belong to fluid/
  // Of the programs on all hosts:
  kTask,    // subject and argument belong to the workload
  kReport,  // subject: the NIC; argument: what it reports
  // Of the simulation as a whole:
  kSample,
  kCable,  // subject: the index in the schedule of faults
};

struct Clockwork {
  [[nodiscard]] Time now() const { return wheel.now(); }

  EventWheel<Happening> wheel;
  PacketPool packets;
};

}  // namespace nerve::sim
