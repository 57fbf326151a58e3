// The result of a run. Plain values; result_json.h writes and reads them, summary.h and the report
// show them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "sim/results/job_result.h"
#include "sim/results/why_result.h"

namespace nerve::sim {

struct Totals {
  std::uint64_t data_packets{};  // sent by NICs, with retransmissions
  std::uint64_t data_bytes{};
  std::uint64_t marked{};
  std::uint64_t dropped{};
  std::uint64_t lost{};  // on cables that failed or damaged bits
  std::uint64_t pauses{};
  Duration paused{};  // sum over all ports
  std::uint64_t retransmitted{};
  std::uint64_t timeouts{};
  std::uint64_t congestion_notices{};  // CNPs received
  std::uint64_t failed_messages{};
  Duration cpu{};  // of TCP hosts, all cores together
  std::uint64_t
      watchdog_trips{};  // queues that were paused for longer than the PFC watchdog allows
  std::uint64_t policy_fallbacks{};  // times that Swift took over from a learned policy
  std::uint64_t trimmed{};           // packets that lost their payload in a switch
  std::uint64_t link_retries{};      // frames repeated on a cable
};

// One direction of a cable, from its sending end.
struct LinkResult {
  std::uint32_t from{};  // nodes
  std::uint32_t to{};
  std::uint64_t rate_bps{};
  std::uint64_t bytes{};
  double utilisation{};         // until the last job ended
  std::uint32_t most_queued{};  // bytes
  std::uint64_t marked{};
  std::uint64_t dropped{};  // at its far end, for lack of buffer space or a route
  std::uint64_t lost{};     // on it
  std::uint64_t pauses{};   // received
  Duration paused{};
};

struct NodeResult {
  std::string name;
  std::uint16_t tier{};  // 0: a NIC
  bool is_switch{};
};

// One value per sample.
struct Series {
  std::string name;
  std::string unit;
  std::vector<double> values;
};

// The fidelity of a run without packets. What only packets have (queues, marks, pauses, losses,
// retransmissions) is then absent from files, summaries and pages.
inline constexpr std::string_view kFlowFidelity = "flow";

struct RunResult {
  std::string scenario;
  std::string description;
  std::string version;
  std::uint64_t seed{};
  Duration simulated{};  // until the last job ended
  std::uint64_t events{};
  double wall_seconds{};         // not in the hash
  std::uint64_t memory_bytes{};  // not in the hash
  std::vector<JobResult> jobs;
  Totals totals{};
  std::vector<NodeResult> nodes;
  std::vector<LinkResult> links;
  Duration sample_every{};
  std::vector<Series> series;
  std::string fidelity;              // empty: packets
  std::vector<std::string> remarks;  // notes for the reader: faults, stopped jobs
  std::vector<JobWhy> why;           // per job; not in the hash
  std::vector<Trial> trials;         // not in the hash
};

[[nodiscard]] inline bool has_packets(const RunResult& result) {
  return result.fidelity != kFlowFidelity;
}

// Covers all fields that are determined by the scenario and its seed.
[[nodiscard]] std::uint64_t hash_of(const RunResult& result);

}  // namespace nerve::sim
