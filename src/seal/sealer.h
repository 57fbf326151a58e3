// What packets are sealed and opened with: the session of a QP, or the keys of a host's datagrams.
#pragma once

#include "base/time.h"
#include "seal/opening.h"

namespace nerve::seal {

class Sealer {
 public:
  virtual ~Sealer() = default;
  // Writes sealed_size(frame) bytes. False: the packet must not be sent.
  [[nodiscard]] virtual bool seal(const wire::Frame& frame, Time now, MutableBytes out) = 0;
  // The same for a plain packet in bytes, from its BTH to its pad: kOverhead bytes more.
  [[nodiscard]] virtual bool seal(const wire::Flow& flow, Bytes plain, Time now,
                                  MutableBytes out) = 0;
};

class Opener {
 public:
  virtual ~Opener() = default;
  // Takes a sealed packet, which it decrypts where it lies. If the result is kGood, `frame` refers
  // to it and to `piece`.
  [[nodiscard]] virtual Opening receive(const wire::Flow& flow, MutableBytes packet, Time now,
                                        wire::Frame& frame, wire::Piece& piece) = 0;
};

}  // namespace nerve::seal
