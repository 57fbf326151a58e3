// The taps that the user configured, between the engines and the exchange.
//
//   engines -> fault -> capture -> exchange        exchange -> capture -> engines
//
// The capture is next to the wire: it shows the packets that fault injection let through, each
// once.
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
  // A tap that cannot be opened is left out and reported in `problems`. `origins` is used by the
  // capture, `on_loss` by the faults.
  Taps(const Config& config, link::Egress& exchange, link::FrameSink& engines,
       link::PcapSink::Origins origins, std::vector<std::string>& problems,
       link::FaultTap::OnLoss on_loss = {});

  [[nodiscard]] link::Egress& egress() { return *egress_; }
  // The sink for frames from other processes, and for frames that this process sent to itself.
  [[nodiscard]] link::FrameSink& sink() { return *sink_; }
  [[nodiscard]] link::FrameSink& own_sink() { return *own_sink_; }

  [[nodiscard]] std::optional<Time> next_deadline() const;
  void expire(Time now);
  // Writes buffered packets to the file; cheap if there are none.
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
