// What stands in the way of packets, seen at each sample of a run: congested ports and their kind,
// paused NICs and the root of their pauses, losses, NICs that congestion control holds back.
//
// It only reads. Samples are taken while all parts of the simulation wait, so what it sees does not
// depend on the number of threads. docs/why.md has the rules.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/results/run_result.h"
#include "sim/results/samples.h"
#include "sim/simulation.h"

namespace nerve::sim {

class Congestion {
 public:
  // How long each was seen, in picoseconds.
  enum Column : std::size_t {
    kCollisions,    // a queue between switches, while cables beside it had room
    kTooFewCables,  // a queue between switches, and no room beside it
    kIncast,        // a queue before a NIC
    kPaused,        // a queue was stopped by the next node, or the NIC that was paused longest
    kLosses,        // retransmissions and timeouts
    kHeldBack,      // NICs with messages to send were idle, and nothing else was seen
    kCableDown,
    kSlowCable,  // a cable that a fault has slowed down was busy
    kBusyNics,   // a NIC was busy all the time
    kAnything,   // any of those before kBusyNics
    kColumns
  };

  // Of a port that was congested, or the root of pauses, at some sample.
  struct PortSeen {
    std::uint32_t port{};
    Duration collided{};
    Duration crowded{};  // kTooFewCables
    Duration incast{};
    Duration root{};        // of pauses
    double unused{};        // share of the cables beside it while it collided, times `collided`
    std::uint32_t flows{};  // the largest number of flows seen in its queue
    std::uint32_t most{};   // bytes of that queue
  };

  // The simulation and the links must outlive it.
  Congestion(Simulation& simulation, std::span<const NodeResult> nodes,
             std::span<const LinkResult> links, Duration every, std::size_t most_samples);

  // What to look for, and how.
  struct Hints {
    bool faults{};        // cables may be slower than they were
    bool rate_control{};  // NICs may be held back
    bool short_queues{};  // congestion control keeps queues short: a busy port is congested
  };
  void expect(const Hints& hints) { hints_ = hints; }
  void widen(Duration every) { samples_.widen(every); }

  // A sample: one call of begin(), look() at each port, end().
  void begin(Duration since);
  // `share`: how busy the port was since the last sample.
  void look(std::uint32_t port, double share);
  void end(bool last);
  // With several ranks: rank zero learns what only the others could count. Call it once, after the
  // last sample.
  void share_flows();

  // The sum of a column over the samples within these times.
  [[nodiscard]] Duration seen(Column column, Time from, Time to) const;
  [[nodiscard]] std::span<const PortSeen> ports() const { return seen_; }
  // Pauses that lead to no root: switches wait for each other.
  [[nodiscard]] Duration circular() const { return circular_; }

 private:
  static constexpr std::uint32_t kNever = 0xffff'ffff;

  struct NicSeen {
    std::uint64_t retransmitted{};
    std::uint64_t timeouts{};
    std::uint64_t paused{};      // picoseconds, all ports together
    std::uint64_t paused_now{};  // the same at this sample
    double share{};              // how busy, in this sample: the sum over its ports
    std::uint32_t ports{};       // in this sample
    bool has_work{};
  };

  // Of all NICs, in a sample.
  struct NicSums {
    Duration resent{};   // the time of the packets that the worst of them has retransmitted
    Duration timeout{};  // zero: there was none
    double idle{};       // of those with work, the sum of their idle shares
    std::uint32_t working{};
  };

  void look_at_nic(std::uint32_t number, const Port& port, double share);
  [[nodiscard]] bool is_stopped(const Port& port) const;
  [[nodiscard]] bool has_queue(std::uint32_t number, const Port& port, double share) const;
  void judge(std::uint32_t port);
  void find_roots();
  [[nodiscard]] std::uint32_t root_of(std::uint32_t port) const;
  void add_nics();
  void add_nic(NodeId node, NicSeen& seen, NicSums& sums);
  void add_losses(const NicSums& sums);
  PortSeen& entry_of(std::uint32_t port);
  void count_flows(std::uint32_t port, PortSeen& seen);
  void add(Column column, Duration time);

  Simulation& simulation_;
  std::span<const LinkResult> links_;
  std::vector<std::uint32_t> beside_;   // per port between switches: its set of cables
  std::vector<std::uint32_t> members_;  // per set: cables
  std::vector<double> shares_;          // per set, in this sample
  std::vector<std::uint32_t> index_;    // per port, in seen_; kNever: none
  std::vector<PortSeen> seen_;
  std::vector<NicSeen> nics_;               // per node
  std::vector<std::uint32_t> congested_;    // ports, in this sample
  std::vector<std::uint32_t> paused_;       // ports
  std::vector<std::uint32_t> longest_;      // per switch: the port with the longest queue
  std::vector<std::uint32_t> with_queues_;  // switches that have one
  Samples samples_;
  std::array<std::uint64_t, kColumns> row_{};
  Duration since_{};
  Duration circular_{};
  Time losses_until_{};  // waiting for timeouts is counted up to here
  Hints hints_{};
};

}  // namespace nerve::sim
