#include "host/diagnostics/report.h"

#include <unistd.h>

#include <fstream>
#include <string_view>

#include "host/shard.h"

namespace nerve::host {
namespace {

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

std::uint64_t own_pid() { return static_cast<std::uint64_t>(::getpid()); }

std::string own_name() {
  std::string name;
  std::ifstream file{"/proc/self/comm"};
  std::getline(file, name);
  return name.empty() ? "?" : name;
}

Totals totals_of(std::span<Shard* const> shards) {
  Totals sum;
  for (Shard* shard : shards) {
    if (!try_long(shard->lock)) continue;
    for (const Adapter::State* adapter : shard->adapters) sum.engines += adapter->nic.counters();
    sum.transports += shard->exchange.counters();
    sum.direct_times += shard->peer_memory.times();
    sum.direct_bytes += shard->peer_memory.bytes();
    if (UdpPort* const port = shard->network.udp()) {
      UdpTotals& udp = sum.udp ? *sum.udp : sum.udp.emplace();
      udp.bad_icrc += port->receiver().counters().bad_icrc;
      udp.malformed += port->receiver().counters().malformed;
      udp.overflowed += port->receiver().overflowed();
    }
    if (const link::FaultCounters* faults = shard->taps->faults()) sum.faults = *faults;
    shard->lock.unlock();
  }
  return sum;
}

std::string report(Shard& primary) {
  const std::vector<Shard*> shards = primary.shards.all();
  const Totals totals = totals_of(shards);
  const nic::Counters& sum = totals.engines;
  const ExchangeCounters& ways = totals.transports;
  Lines lines;
  lines.add("pid", own_pid());
  lines.add("program", own_name());
  lines.add("slot", primary.slot);
  lines.add("devices", primary.adapters.size());
  lines.add("bytes_sent", sum.bytes_sent);
  lines.add("bytes_received", sum.bytes_received);
  lines.add("packets_sent", sum.frames_sent);
  lines.add("packets_received", sum.frames_received);
  lines.add("shm_packets_sent", ways.shm_frames);
  lines.add("shm_bytes_sent", ways.shm_bytes);
  lines.add("udp_packets_sent", ways.udp_frames);
  lines.add("udp_bytes_sent", ways.udp_bytes);
  lines.add("direct_times", totals.direct_times);
  lines.add("direct_bytes", totals.direct_bytes);
  lines.add("packets_forwarded", ways.forwarded);
  lines.add("packets_unreachable", ways.unreachable);
  lines.add("retransmitted", sum.retransmitted_frames);
  lines.add("timeouts", sum.timeouts);
  lines.add("tail_probes", sum.tail_probes_sent);
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
  lines.add("dropped_wrong_transport", sum.dropped_wrong_transport);
  lines.add("dropped_wrong_address", sum.dropped_wrong_address);
  lines.add("dropped_bad_state", sum.dropped_bad_state);
  lines.add("dropped_bad_pkey", sum.dropped_bad_pkey);
  lines.add("dropped_bad_qkey", sum.dropped_bad_qkey);
  lines.add("mads_sent", sum.mads_sent);
  lines.add("mads_received", sum.mads_received);
  lines.add("mads_retried", sum.mads_retried);
  lines.add("mads_duplicate", sum.mads_duplicate);
  lines.add("mads_bad", sum.mads_bad);
  lines.add("mads_rejected", sum.mads_rejected);
  lines.add("mads_dropped", sum.mads_dropped);
  lines.add("cnps_sent", sum.cnps_sent);
  lines.add("cnps_received", sum.cnps_received);
  if (totals.udp) {
    lines.add("udp_bad_icrc", totals.udp->bad_icrc);
    lines.add("udp_malformed", totals.udp->malformed);
    lines.add("udp_overflowed", totals.udp->overflowed);
  }
  if (const auto& faults = totals.faults) {
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
