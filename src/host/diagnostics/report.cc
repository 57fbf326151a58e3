#include "host/diagnostics/report.h"

#include <unistd.h>

#include <fstream>
#include <string_view>

#include "host/diagnostics/connections.h"
#include "host/diagnostics/counter_names.h"
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
    for (const Adapter::State* adapter : shard->adapters) sum.traffic += adapter->counters;
    sum.traffic.transports += shard->exchange.early_counters();
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
  Lines lines;
  lines.add("pid", own_pid());
  lines.add("program", own_name());
  lines.add("slot", primary.slot);
  lines.add("devices", primary.adapters.size());
  for (const CounterName& counter : counter_names()) {
    lines.add(counter.name, counter.value(totals.traffic));
  }
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
  return lines.text() + connections_text(shards);
}

}  // namespace nerve::host
