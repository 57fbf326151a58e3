#include "host/diagnostics/taps.h"

#include <utility>

#include "host/runtime/clock.h"

namespace nerve::host {

Taps::Taps(const Config& config, link::Egress& exchange, link::FrameSink& engines,
           link::PcapSink::Origins origins, std::vector<std::string>& problems,
           link::FaultTap::OnLoss on_loss)
    : egress_{&exchange}, sink_{&engines}, own_sink_{&engines} {
  if (!config.pcap.empty()) {
    auto file = link::PcapFile::open({.file = config.pcap,
                                      .start = now(),
                                      .start_wall_ns = wall_clock_ns(),
                                      .snap_length = config.pcap_snap,
                                      .packet_limit = config.pcap_limit});
    if (file) {
      file_ = *file;
      egress_ = &pcap_egress_.emplace(*egress_, *file_);
      const auto direction = config.pcap_direction == CaptureDirection::kBoth
                                 ? link::PcapDirection::kBoth
                                 : link::PcapDirection::kSent;
      sink_ = &pcap_sink_.emplace(engines, *file_, direction, std::move(origins));
      if (direction == link::PcapDirection::kBoth) own_sink_ = sink_;
    } else {
      problems.push_back(file.error());
    }
  }
  if (!config.fault.empty()) {
    if (auto spec = link::parse_fault_spec(config.fault)) {
      egress_ = &fault_.emplace(*egress_, *spec, std::move(on_loss));
    } else {
      problems.push_back(spec.error());
    }
  }
}

std::optional<Time> Taps::next_deadline() const {
  return fault_ ? fault_->next_deadline() : std::nullopt;
}

void Taps::expire(Time now) {
  if (fault_) fault_->expire(now);
}

void Taps::flush() {
  if (file_) file_->flush();
}

void Taps::finish() {
  if (file_) file_->finish();
}

const link::FaultCounters* Taps::faults() const { return fault_ ? &fault_->counters() : nullptr; }

}  // namespace nerve::host
