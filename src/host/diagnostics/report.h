// What a process has done so far, in words: for `nerve stat`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "host/host.h"
#include "host/network/exchange.h"
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
  nic::Counters engines;
  ExchangeCounters transports;
  std::uint64_t direct_times{};
  std::uint64_t direct_bytes{};
  std::optional<UdpTotals> udp;
  std::optional<link::FaultCounters> faults;  // only where there is one shard
};

// Takes their locks, one after the other.
[[nodiscard]] Totals totals_of(std::span<Shard* const> shards);

// Lines of "name value", in an order that does not change. Of the whole process; takes the locks.
[[nodiscard]] std::string report(Shard& primary);

[[nodiscard]] std::uint64_t own_pid();
[[nodiscard]] std::string own_name();  // as the kernel lists this process

}  // namespace nerve::host
