// The two ends of a link: where frames leave and where they arrive.
//
// Everything between the engine and the outside implements these three interfaces, so that taps can
// be inserted anywhere: a capture wraps an Egress and a FrameSink, fault injection an Egress. None
// of it is thread-safe; the shard's lock serialises all calls.
//
// A link delivers a frame, or drops and counts it. It never reports a loss: the protocol
// retransmits.
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

  // Sends the frames in order. The memory they refer to is valid only during the call.
  virtual void send(std::span<const wire::Frame> frames, Time now) = 0;

  // Sends one packet that is already encoded as a UDP payload, from BTH to ICRC: one that was
  // delayed or corrupted by fault injection. Its ICRC was computed for `flow` and a default
  // Envelope.
  virtual void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) = 0;
};

class FrameSink {
 public:
  virtual ~FrameSink() = default;

  // The memory that the frames refer to is valid only during the call.
  virtual void deliver(std::span<const wire::Frame> frames, Time now) = 0;
};

class Ingress {
 public:
  virtual ~Ingress() = default;

  // Delivers frames that have arrived, in batches, and stops after the batch that reaches `budget`
  // frames. Returns how many were delivered; never blocks.
  virtual std::size_t receive(FrameSink& sink, std::size_t budget, Time now) = 0;
};

}  // namespace nerve::link
