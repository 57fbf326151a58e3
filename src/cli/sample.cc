#include "cli/sample.h"

#include <algorithm>

#include "host/config/config.h"
#include "host/diagnostics/counter_names.h"
#include "host/host.h"

namespace nerve::cli {

void fill_from_record(host::ProcessReport& report, const host::Records& records) {
  const auto record = std::ranges::find_if(
      records.processes, [&](const auto& one) { return one.pid == report.pid && one.alive; });
  if (record == records.processes.end()) return;
  const host::DeviceCounters total = record->total();
  for (const host::CounterName& counter : host::counter_names()) {
    report.counters.emplace(counter.name, counter.value(total));
  }
}

Sample take_sample(host::RecordReader& records) {
  constexpr std::chrono::milliseconds kPatience{500};
  Sample sample;
  sample.processes = host::ask_processes(kPatience);
  sample.at = std::chrono::steady_clock::now().time_since_epoch();
  sample.records = records.read();
  for (host::ProcessReport& report : sample.processes) {
    if (!report.answered) fill_from_record(report, sample.records);
  }
  const host::Config config = host::load_config(host::process_environment()).config;
  for (const host::Device& device : host::devices_of(config)) {
    sample.devices.push_back({.name = device.name, .up = device.up});
  }
  return sample;
}

}  // namespace nerve::cli
