// The counters of a port as Linux has them below /sys/class/infiniband/DEVICE/ports/1, each with
// the name that node_exporter's infiniband collector gives it.
//
// What does not exist here at all (symbols, virtual lanes) is zero, as on an adapter without
// errors; what could exist but is not counted (multicast apart from unicast) is left out.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "host/peers/statistics_layout.h"

namespace nerve::host {

struct PortCounter {
  std::string_view folder;  // counters, hw_counters
  std::string_view file;
  std::string_view metric;  // after "node_infiniband_"
  std::string_view help;
  std::uint64_t (*value)(const DeviceCounters&);  // for the metric
  std::uint64_t unit{1};                          // how much one in the file stands for
};

[[nodiscard]] std::span<const PortCounter> port_counters();

}  // namespace nerve::host
