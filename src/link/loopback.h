// A link to oneself: what is sent arrives at the next receive().
#pragma once

#include <deque>
#include <vector>

#include "link/link.h"

namespace nerve::link {

class Loopback final : public Egress, public Ingress {
 public:
  void send(std::span<const wire::Frame> frames, Time now) override;
  void send_octets(const wire::Flow& flow, Octets udp_payload, Time now) override;
  std::size_t receive(FrameSink& sink, std::size_t budget, Time now) override;

 private:
  struct Held {
    wire::Flow flow;
    std::vector<std::byte> octets;
  };
  std::deque<Held> held_;
};

}  // namespace nerve::link
