#include "cli/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "host/devices/identity.h"
#include "host/diagnostics/counter_names.h"
#include "host/diagnostics/port_counters.h"
#include "host/diagnostics/summary.h"

namespace nerve::cli {
namespace {

using host::DeviceCounters;
using host::DeviceRecord;
using host::ProcessRecord;
using host::ProcessReport;
using Labels = std::vector<std::pair<std::string_view, std::string>>;

// Processes that have ended stay in the table of counters for a while; so many of them are shown.
constexpr std::size_t kEndedShown = 64;

constexpr std::uint64_t kLineRate = 12'500'000'000;  // host::kRateText, in bytes per second

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    result += c == '\n' ? std::string{"\\n"} : std::string{c};
  }
  return result;
}

// A metric with its samples, one under the other as the format wants them.
class Family {
 public:
  Family(std::string& out, std::string name, std::string_view type, std::string_view help)
      : out_{out}, name_{std::move(name)} {
    fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name_, help, name_,
                   type);
  }
  void add(const Labels& labels, std::uint64_t value) {
    std::string text;
    for (const auto& [label, is] : labels) {
      text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", label, escaped(is));
    }
    fmt::format_to(std::back_inserter(out_), "{}{{{}}} {}\n", name_, text, value);
  }

 private:
  std::string& out_;
  std::string name_;
};

Labels port_labels(const std::string& device) { return {{"device", device}, {"port", "1"}}; }

Labels labels_of(const ProcessRecord& process, const std::string& device) {
  return {{"pid", std::to_string(process.pid)}, {"program", process.program}, {"device", device}};
}

Labels labels_of(const ProcessReport& report) {
  return {{"pid", std::to_string(report.pid)}, {"program", report.program}};
}

// As node_exporter has them: a port of a real adapter and one of ours fill the same graph.
void add_ports(std::string& out, const Sample& sample) {
  Family info{out, "node_infiniband_info", "gauge",
              "Non-numeric data from /sys/class/infiniband/<device>, value is always 1."};
  for (const DeviceState& device : sample.devices) {
    info.add({{"device", device.name},
              {"board_id", "nerve"},
              {"firmware_version", std::string{host::kFirmware}},
              {"hca_type", "nerve"}},
             1);
  }
  Family state{out, "node_infiniband_state_id", "gauge",
               "State of the InfiniBand port (0: no change, 1: down, 2: init, 3: armed, 4: active, "
               "5: act defer)"};
  for (const DeviceState& device : sample.devices) {
    state.add(port_labels(device.name), device.up ? 4 : 1);
  }
  Family physical{out, "node_infiniband_physical_state_id", "gauge",
                  "Physical state of the InfiniBand port (0: no change, 1: sleep, 2: polling, 3: "
                  "disable, 4: shift, 5: link up, 6: link error recover, 7: phytest)"};
  for (const DeviceState& device : sample.devices) {
    physical.add(port_labels(device.name), device.up ? 5 : 3);
  }
  Family rate{out, "node_infiniband_rate_bytes_per_second", "gauge",
              "Maximum signal transfer rate"};
  for (const DeviceState& device : sample.devices) rate.add(port_labels(device.name), kLineRate);
  std::vector<DeviceRecord> totals = sample.records.by_device();
  for (const DeviceState& device : sample.devices) {
    if (std::ranges::find(totals, device.name, &DeviceRecord::name) == totals.end()) {
      totals.push_back({.name = device.name, .counters = {}});  // nothing yet
    }
  }
  for (const host::PortCounter& counter : host::port_counters()) {
    Family family{out, "node_infiniband_" + std::string{counter.metric}, "counter", counter.help};
    for (const DeviceRecord& device : totals) {
      family.add(port_labels(device.name), counter.value(device.counters));
    }
  }
}

struct Path {
  std::string_view name;
  std::uint64_t copies;  // of each byte, at both ends together
  std::uint64_t (*bytes)(const DeviceCounters&);
  std::uint64_t (*packets)(const DeviceCounters&);
};

constexpr Path kPaths[] = {
    {"shm", host::kCopiesByRing, [](const DeviceCounters& c) { return c.transports.shm_bytes; },
     [](const DeviceCounters& c) { return c.transports.shm_frames; }},
    {"udp", host::kCopiesByUdp, [](const DeviceCounters& c) { return c.transports.udp_bytes; },
     [](const DeviceCounters& c) { return c.transports.udp_frames; }},
    {"direct", host::kCopiesByPlacing, [](const DeviceCounters& c) { return c.direct.bytes(); },
     [](const DeviceCounters& c) { return c.direct.times(); }},
};

template <class Value>
void add_paths(std::string& out, std::span<const ProcessRecord* const> processes, std::string name,
               std::string_view help, Value value) {
  Family family{out, std::move(name), "counter", help};
  for (const ProcessRecord* process : processes) {
    for (const DeviceRecord& device : process->devices) {
      for (const Path& path : kPaths) {
        Labels labels = labels_of(*process, device.name);
        labels.emplace_back("path", path.name);
        family.add(labels, value(path, device.counters));
      }
    }
  }
}

bool is_path_counter(std::string_view name) {
  return name.starts_with("shm_") || name.starts_with("udp_") || name == "direct_times" ||
         name == "direct_bytes";
}

std::vector<const ProcessRecord*> shown(const host::Records& records) {
  std::vector<const ProcessRecord*> all;
  for (const ProcessRecord& process : records.processes) all.push_back(&process);
  // Those that run first, then the youngest of the others.
  std::ranges::stable_sort(all, [](const ProcessRecord* a, const ProcessRecord* b) {
    if (a->alive != b->alive) return a->alive;
    return !a->alive && a->started > b->started;
  });
  const auto ended = std::ranges::find(all, false, &ProcessRecord::alive);
  if (static_cast<std::size_t>(all.end() - ended) > kEndedShown) {
    all.erase(ended + static_cast<std::ptrdiff_t>(kEndedShown), all.end());
  }
  return all;
}

void add_processes(std::string& out, const Sample& sample) {
  const std::vector<const ProcessRecord*> processes = shown(sample.records);
  Family running{out, "nerve_process_running", "gauge",
                 "1 while the process runs, 0 after it has ended or was killed."};
  for (const ProcessRecord* process : processes) {
    running.add({{"pid", std::to_string(process->pid)}, {"program", process->program}},
                process->alive ? 1 : 0);
  }
  add_paths(out, processes, "nerve_path_bytes_total", "Payload sent, by the path that it took.",
            [](const Path& path, const DeviceCounters& c) { return path.bytes(c); });
  add_paths(out, processes, "nerve_path_packets_total",
            "Packets sent, by the path that they took; of path direct, requests.",
            [](const Path& path, const DeviceCounters& c) { return path.packets(c); });
  add_paths(out, processes, "nerve_path_copied_bytes_total",
            "Bytes copied for that payload, by both ends and the kernel together.",
            [](const Path& path, const DeviceCounters& c) { return path.copies * path.bytes(c); });
  for (const host::CounterName& counter : host::counter_names()) {
    if (is_path_counter(counter.name)) continue;
    Family family{out, fmt::format("nerve_{}_total", counter.name), "counter", counter.help};
    for (const ProcessRecord* process : processes) {
      for (const DeviceRecord& device : process->devices) {
        family.add(labels_of(*process, device.name), counter.value(device.counters));
      }
    }
  }
}

void add_gauges(std::string& out, const Sample& sample) {
  Family answers{out, "nerve_process_answers", "gauge",
                 "1 if the process answers, 0 if it is stopped or has no device open."};
  for (const ProcessReport& report : sample.processes) {
    answers.add(labels_of(report), report.answered ? 1 : 0);
  }
  const auto add = [&](const char* name, const char* key, const char* help) {
    Family family{out, name, "gauge", help};
    for (const ProcessReport& report : sample.processes) {
      if (report.answered) family.add(labels_of(report), report[key]);
    }
  };
  add("nerve_qps", "qps", "QPs of the process.");
  add("nerve_peers", "peers", "Processes that its QPs are connected to.");
  Family rates{
      out, "nerve_lowest_rate_bytes_per_second", "gauge",
      "What congestion control allows the QP that it slows down most; 0 if it slows none."};
  for (const ProcessReport& report : sample.processes) {
    if (report.answered) rates.add(labels_of(report), report["lowest_rate"] / 8);
  }
  Family bad_icrc{out, "nerve_udp_bad_icrc_total", "counter",
                  "UDP packets dropped: wrong invariant CRC."};
  for (const ProcessReport& report : sample.processes) {
    if (report.answered) bad_icrc.add(labels_of(report), report["udp_bad_icrc"]);
  }
}

}  // namespace

std::string metrics_text(const Sample& sample) {
  std::string out;
  add_ports(out, sample);
  add_processes(out, sample);
  add_gauges(out, sample);
  return out;
}

}  // namespace nerve::cli
