#include "host/report.h"

#include <unistd.h>

#include <fstream>
#include <string_view>

#include "host/shared.h"

namespace nerve::host {
namespace {

std::string own_name() {
  std::string name;
  std::ifstream file{"/proc/self/comm"};
  std::getline(file, name);
  return name.empty() ? "?" : name;
}

nic::Counters add_up(const std::vector<Adapter::State*>& adapters) {
  nic::Counters sum;
  for (const Adapter::State* adapter : adapters) {
    const nic::Counters& c = adapter->nic.counters();
    sum.frames_received += c.frames_received;
    sum.frames_sent += c.frames_sent;
    sum.octets_received += c.octets_received;
    sum.octets_sent += c.octets_sent;
    sum.retransmitted_frames += c.retransmitted_frames;
    sum.timeouts += c.timeouts;
    sum.rnr_naks_sent += c.rnr_naks_sent;
    sum.rnr_naks_received += c.rnr_naks_received;
    sum.sequence_naks_sent += c.sequence_naks_sent;
    sum.sequence_naks_received += c.sequence_naks_received;
    sum.error_naks_sent += c.error_naks_sent;
    sum.error_naks_received += c.error_naks_received;
    sum.duplicates_received += c.duplicates_received;
    sum.out_of_order_received += c.out_of_order_received;
    sum.cnps_sent += c.cnps_sent;
    sum.cnps_received += c.cnps_received;
    sum.dropped_no_qp += c.dropped_no_qp;
    sum.dropped_malformed += c.dropped_malformed;
    sum.dropped_no_receive += c.dropped_no_receive;
  }
  return sum;
}

class Lines {
 public:
  void add(std::string_view name, std::uint64_t value) { add(name, std::to_string(value)); }
  void add(std::string_view name, std::string_view value) {
    text_.append(name).append(" ").append(value).append("\n");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string report(Host::Shared& shared) {
  const nic::Counters sum = add_up(shared.adapters);
  const ExchangeCounters& ways = shared.exchange.counters();
  Lines lines;
  lines.add("pid", static_cast<std::uint64_t>(::getpid()));
  lines.add("program", own_name());
  lines.add("slot", shared.slot);
  lines.add("devices", shared.adapters.size());
  lines.add("octets_sent", sum.octets_sent);
  lines.add("octets_received", sum.octets_received);
  lines.add("packets_sent", sum.frames_sent);
  lines.add("packets_received", sum.frames_received);
  lines.add("shm_packets_sent", ways.shm_frames);
  lines.add("shm_octets_sent", ways.shm_octets);
  lines.add("udp_packets_sent", ways.udp_frames);
  lines.add("udp_octets_sent", ways.udp_octets);
  lines.add("packets_forwarded", ways.forwarded);
  lines.add("packets_unreachable", ways.unreachable);
  lines.add("retransmitted", sum.retransmitted_frames);
  lines.add("timeouts", sum.timeouts);
  lines.add("rnr_naks_sent", sum.rnr_naks_sent);
  lines.add("rnr_naks_received", sum.rnr_naks_received);
  lines.add("sequence_naks_sent", sum.sequence_naks_sent);
  lines.add("sequence_naks_received", sum.sequence_naks_received);
  lines.add("error_naks_sent", sum.error_naks_sent);
  lines.add("error_naks_received", sum.error_naks_received);
  lines.add("duplicates_received", sum.duplicates_received);
  lines.add("out_of_order_received", sum.out_of_order_received);
  lines.add("dropped_no_qp", sum.dropped_no_qp);
  lines.add("dropped_malformed", sum.dropped_malformed);
  lines.add("dropped_no_receive", sum.dropped_no_receive);
  if (shared.udp) {
    lines.add("udp_bad_icrc", shared.udp->receiver().counters().bad_icrc);
    lines.add("udp_malformed", shared.udp->receiver().counters().malformed);
    lines.add("udp_overflowed", shared.udp->receiver().overflowed());
  }
  if (const link::FaultCounters* faults = shared.taps->faults()) {
    lines.add("fault_lost", faults->lost);
    lines.add("fault_duplicated", faults->duplicated);
    lines.add("fault_reordered", faults->reordered);
    lines.add("fault_corrupted", faults->corrupted);
    lines.add("fault_delayed", faults->delayed);
    lines.add("fault_marked", faults->marked);
  }
  return lines.text();
}

}  // namespace nerve::host
