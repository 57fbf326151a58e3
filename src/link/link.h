// The two ends of a link: where frames leave and where they arrive.
//
// Everything between the engine and the outside speaks these three interfaces, so that taps can be
// slipped in anywhere: a capture wraps an Egress and a FrameSink, fault injection an Egress. None
// of it is thread-safe; the host's lock serialises.
//
// A link delivers or it drops and counts. It never answers: loss is the protocol's to repair.
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "base/time.h"
#include "wire/frame.h"

namespace nerve::link {

class Egress {
 public:
  virtual ~Egress() = default;

  // Sends the frames in order. What they refer to holds for the length of the call.
  virtual void send(std::span<const wire::Frame> frames, Time now) = 0;

  // Sends one packet whose UDP payload, BTH to ICRC, is made already: one that was held back, or
  // damaged on purpose. Its ICRC was computed for `flow` and a default Envelope.
  virtual void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) = 0;
};

class FrameSink {
 public:
  virtual ~FrameSink() = default;

  // What the frames refer to holds for the length of the call.
  virtual void deliver(std::span<const wire::Frame> frames, Time now) = 0;
};

class Ingress {
 public:
  virtual ~Ingress() = default;

  // Delivers what has arrived, in batches, and stops after the batch that reaches `budget` frames.
  // Returns how many were delivered; never waits.
  virtual std::size_t receive(FrameSink& sink, std::size_t budget, Time now) = 0;
};

}  // namespace nerve::link
