// Several packets that a capture shows as one, because it was taken before they were segmented.
//
// A sender hands the kernel a run of packets of one size as one buffer (UDP_SEGMENT). tcpdump on
// loopback, on a veth pair or on the sender's own interface sees that buffer: the headers of the
// first packet, with lengths that count all of them. The length of one packet is not recorded; it
// is the length at which the ICRC of the first one is good.
#pragma once

#include <optional>

#include "wire/packet.h"

namespace nerve::wire {

class UncutTrain {
 public:
  // `whole` is the result of decode_packet(ip), with a bad ICRC. Returns nullopt when no length
  // explains it. `guess`, a length found before, is tried first.
  static std::optional<UncutTrain> find(Bytes ip, const Packet& whole, std::size_t guess = 0);

  [[nodiscard]] std::size_t segment() const { return segment_; }
  [[nodiscard]] std::size_t packets() const { return (bytes_.size() + segment_ - 1) / segment_; }
  // The i-th packet. Its identification is i higher than the first, because the kernel numbers the
  // packets it segments.
  [[nodiscard]] Result<Packet, WireError> packet(std::size_t i) const;

 private:
  UncutTrain(const Packet& whole, Bytes bytes, std::size_t segment)
      : flow_{whole.flow}, envelope_{whole.envelope}, bytes_{bytes}, segment_{segment} {}

  Flow flow_;
  Envelope envelope_;
  Bytes bytes_;  // from the first BTH to the last ICRC
  std::size_t segment_;
};

}  // namespace nerve::wire
