#include "host/taps.h"

#include <time.h>

#include <utility>

#include "host/adapter.h"

namespace nerve::host {
namespace {

std::uint64_t wall_ns() {
  timespec at{};
  ::clock_gettime(CLOCK_REALTIME, &at);
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(at.tv_nsec);
}

}  // namespace

Taps::Taps(const Config& config, link::Egress& link, link::PcapSink::IsLocal is_local)
    : egress_{&link},
      is_local_{std::move(is_local)},
      direction_{config.pcap_direction == CaptureDirection::kBoth ? link::PcapDirection::kBoth
                                                                  : link::PcapDirection::kSent} {
  if (!config.pcap.empty()) {
    link::PcapOptions options{.file = config.pcap, .start = now(), .start_wall_ns = wall_ns()};
    options.snap_length = config.pcap_snap;
    options.packet_limit = config.pcap_limit;
    const auto file = link::PcapFile::open(options);
    if (file) {
      file_ = *file;
      egress_ = &captured_.emplace(*egress_, *file_);
    } else {
      problem_ = file.error();
    }
  }
  const auto spec = link::parse_fault_spec(config.fault);
  if (spec && !spec->rules.empty()) egress_ = &faulty_.emplace(*egress_, *spec);
}

std::unique_ptr<link::FrameSink> Taps::capture(link::FrameSink& engine) const {
  if (!file_) return nullptr;
  return std::make_unique<link::PcapSink>(engine, *file_, direction_, is_local_);
}

std::optional<Time> Taps::next_deadline() const {
  return faulty_ ? faulty_->next_deadline() : std::nullopt;
}

void Taps::expire(Time at) {
  if (faulty_) faulty_->expire(at);
}

void Taps::flush() {
  if (file_) file_->flush();
}

const link::FaultCounters* Taps::faults() const { return faulty_ ? &faulty_->counters() : nullptr; }

std::string start_capture(const std::string& file) { return link::PcapFile::start_anew(file); }

}  // namespace nerve::host
