// What a run has shown. Plain values: result_json.h writes and reads them, summary.h and the report
// show them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/results/job_result.h"

namespace nerve::sim {

struct Totals {
  std::uint64_t data_packets{};  // sent by NICs, repeats included
  std::uint64_t data_bytes{};
  std::uint64_t marked{};
  std::uint64_t dropped{};
  std::uint64_t lost{};  // on cables: failed, or bits damaged
  std::uint64_t pauses{};
  Duration paused{};  // all ports together
  std::uint64_t retransmitted{};
  std::uint64_t timeouts{};
  std::uint64_t congestion_notices{};  // CNPs received
  std::uint64_t failed_messages{};
  Duration cpu{};  // of hosts that speak TCP, all cores together
};

// One direction of a cable, at its sending end.
struct LinkResult {
  std::uint32_t from{};  // nodes
  std::uint32_t to{};
  std::uint64_t rate_bps{};
  std::uint64_t bytes{};
  double utilisation{};         // of the time until the last job ended
  std::uint32_t most_queued{};  // bytes
  std::uint64_t marked{};
  std::uint64_t dropped{};  // that it brought, and that found no room or no way at its far end
  std::uint64_t lost{};     // on it
  std::uint64_t pauses{};   // that stopped it
  Duration paused{};
};

struct NodeResult {
  std::string name;
  std::uint16_t tier{};  // 0: a NIC
  bool is_switch{};
};

// One value for each sample.
struct Series {
  std::string name;
  std::string unit;
  std::vector<double> values;
};

struct RunResult {
  std::string scenario;
  std::string description;
  std::string version;
  std::uint64_t seed{};
  Duration simulated{};  // until the last job ended
  std::uint64_t events{};
  double wall_seconds{};         // not part of the hash
  std::uint64_t memory_bytes{};  // nor this
  std::vector<JobResult> jobs;
  Totals totals{};
  std::vector<NodeResult> nodes;
  std::vector<LinkResult> links;
  Duration sample_every{};
  std::vector<Series> series;
  std::vector<std::string> remarks;  // what a reader should know: faults that happened, given up
};

// Of everything that is the same whenever the scenario and its seed are.
[[nodiscard]] std::uint64_t hash_of(const RunResult& result);

}  // namespace nerve::sim
