// Every counter of a device under the name that `nerve stat --json` and the metrics have for it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "host/peers/statistics_layout.h"

namespace nerve::host {

struct CounterName {
  std::string_view name;
  std::uint64_t (*value)(const DeviceCounters&);
  std::string_view help;  // a sentence, shown beside graphs
};

// In an order that does not change.
[[nodiscard]] std::span<const CounterName> counter_names();

}  // namespace nerve::host
