// The taps that a user asked for, between the engines and the exchange.
//
//   engines -> fault -> capture -> exchange        exchange -> capture -> engines
//
// The capture stands next to the wire: it shows what faults left, and each packet once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"
#include "link/tap/fault_tap.h"
#include "link/tap/pcap_tap.h"

namespace nerve::host {

class Taps {
 public:
  // What cannot be had is told in `problems` and left out. `origins` matter to a capture.
  Taps(const Config& config, link::Egress& exchange, link::FrameSink& engines,
       link::PcapSink::Origins origins, std::vector<std::string>& problems);

  [[nodiscard]] link::Egress& egress() { return *egress_; }
  // For what comes from others, and for what this process sent to itself.
  [[nodiscard]] link::FrameSink& sink() { return *sink_; }
  [[nodiscard]] link::FrameSink& own_sink() { return *own_sink_; }

  [[nodiscard]] std::optional<Time> next_deadline() const;
  void expire(Time now);
  // Puts what was captured into the file; cheap when there is nothing.
  void flush();
  void finish();
  [[nodiscard]] const link::FaultCounters* faults() const;

 private:
  link::Egress* egress_;
  link::FrameSink* sink_;
  link::FrameSink* own_sink_;
  std::shared_ptr<link::PcapFile> file_;
  std::optional<link::PcapEgress> pcap_egress_;
  std::optional<link::PcapSink> pcap_sink_;
  std::optional<link::FaultTap> fault_;
};

}  // namespace nerve::host
