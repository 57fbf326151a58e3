// The counters of a process as text: for `nerve stat`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "host/host.h"
#include "host/peers/statistics_layout.h"
#include "link/tap/fault_tap.h"
#include "link/udp/udp_receiver.h"

namespace nerve::host {

struct UdpTotals {
  std::uint64_t bad_icrc{};
  std::uint64_t malformed{};
  std::uint64_t overflowed{};
};

// The counters of several shards, added up.
struct Totals {
  DeviceCounters traffic;
  std::optional<UdpTotals> udp;
  std::optional<link::FaultCounters> faults;  // only if the process has one shard
};

// Takes the locks of the shards one after the other.
[[nodiscard]] Totals totals_of(std::span<Shard* const> shards);

// Lines of "name value" in a fixed order, for the whole process. Takes the locks.
[[nodiscard]] std::string report(Shard& primary);

[[nodiscard]] std::uint64_t own_pid();
[[nodiscard]] std::string own_name();  // as in /proc/self/comm

}  // namespace nerve::host
