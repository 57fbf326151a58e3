#include "tests/sim/incast_oracle.h"

#include <algorithm>

#include "base/check.h"
#include "sim/simulation.h"
#include "sim/topology/topologies.h"

namespace nerve::sim::test {
namespace {

using nic::CcAlgorithm;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

SimNicConfig nics(CcAlgorithm algorithm) {
  SimNicConfig config;
  config.mtu = nic::Mtu::k1024;
  config.engine.max_outstanding_packets = 1U << 20U;  // in ns-3 only rates limit DCQCN and TIMELY
  nic::FlowControlConfig& control = config.engine.flow_control;
  control.algorithm = algorithm;
  // At the minimum rate a packet leaves every 83.84 us, as in ns-3, where packets are shorter (1
  // 048 bytes). Flows at that rate wait for their next packet before they grow, and whether they
  // all start together decides the height of the next wave.
  constexpr std::uint64_t least = std::uint64_t{100'000'000} * 1102 / 1048;
  control.dcqcn = {.g_inverse = 256,
                   .alpha_timer = microseconds{1},
                   .increase_timer = microseconds{900},
                   .decrease_interval = microseconds{4},
                   .byte_counter = 0,
                   .fast_recovery_stages = 1,
                   .additive_increase = Rate::megabits(50),
                   .hyper_increase = Rate::megabits(100),
                   .minimum_rate = Rate::bits_per_second(least),
                   .clamp_target = false,
                   .alpha_by_timer = true,
                   .cut_by_timer = true};
  control.timely.step = Rate::megabits(50);
  control.timely.hyper_after = 6;
  control.timely.hyper_steps = 2;
  control.timely.low_is_good = true;
  control.timely.steepest = 1'000'000;
  control.timely.samples = 1;
  control.hpcc.most_stages = 0;
  control.hpcc.minimum_rate = Rate::megabits(100);
  control.hpcc.base_round_trip = nanoseconds{4160};  // four cables, two packets
  // Every marked packet causes a CNP, every packet an ACK.
  control.cnp_interval = algorithm == CcAlgorithm::kDcqcn ? Duration{1} : Duration{};
  if (algorithm != CcAlgorithm::kDcqcn) control.ack_every = 1;
  return config;
}

// Records when each flow ends, and samples the queue in front of the receiver.
class World final : private NicUser {
 public:
  World(const Incast& incast, std::uint64_t seed)
      : senders_{incast.senders},
        simulation_{seed, star(incast.senders + 1, {}), fabric(incast.algorithm),
                    nics(incast.algorithm)} {
    simulation_.serve(*this);
    simulation_.on_sample([this] { look(); });
    look();
    const NodeId receiver{senders_};
    for (std::uint32_t i = 0; i < senders_; ++i) {
      const QpNumber qp = simulation_.join(NodeId{i}, receiver).mine;
      simulation_.write(NodeId{i}, {.qp = qp, .bytes = incast.bytes, .message = i});
    }
    simulation_.run(Time{std::chrono::seconds{10}});
  }

  [[nodiscard]] IncastFigures figures() {
    CHECK(ends_.size() == senders_);
    double sum = 0;
    double squares = 0;
    for (const double end : ends_) {
      sum += end;
      squares += end * end;
    }
    std::ranges::sort(queue_);
    std::uint64_t pauses = 0;
    for (const Port& port : simulation_.fabric().ports()) pauses += port.counters.pauses_sent;
    return {.first = ends_.front(),
            .last = ends_.back(),
            .jain = sum * sum / (senders_ * squares),
            .queue_median = queue_[queue_.size() / 2],
            .queue_p99 = queue_[queue_.size() * 99 / 100],
            .queue_most = queue_.back(),
            .pauses = pauses};
  }

 private:
  static FabricConfig fabric(CcAlgorithm algorithm) {
    FabricConfig config;  // 32 MB; marking from 400 to 1 600 KB, up to 20 %
    config.telemetry = algorithm == CcAlgorithm::kHpcc;
    config.longest_packet = 1024 + 128;
    return config;
  }
  void look() {
    const PortId before_receiver{2 * senders_ + 1};
    const std::uint32_t queued = simulation_.fabric().port(before_receiver).queued;
    if (queued > 0) queue_.push_back(queued / 1000.0);
    if (ends_.size() < senders_) {
      simulation_.sample_at(simulation_.now() + nanoseconds{100});
    }
  }
  void received(NodeId, QpNumber, std::uint32_t) override {}
  void sent(NodeId, std::uint64_t) override {
    ends_.push_back(static_cast<double>(simulation_.now().picoseconds()) / 1e6);
  }
  void failed(NodeId, QpNumber, std::string_view) override { CHECK(false); }

  std::uint32_t senders_;
  Simulation simulation_;
  std::vector<double> ends_;
  std::vector<double> queue_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

const std::vector<Incast>& incasts() {
  constexpr std::uint32_t kLong = 10'000'000;
  constexpr std::uint32_t kShort = 2'000'000;
  using enum CcAlgorithm;
  static const std::vector<Incast> all{
      {.name = "2:1 DCQCN",
       .senders = 2,
       .bytes = kLong,
       .algorithm = kDcqcn,
       .expected = {2372, 2518, .999, 262, 533, 572, 0},
       .median_there = IncastFigures{2934, 3195, .998, 162, 923, 927, 0}},
      {"2:1 HPCC", 2, kLong, kHpcc, {1819, 1842, 1.0, 1, 37, 56, 0}, {}},
      {.name = "16:1 DCQCN",
       .senders = 16,
       .bytes = kLong,
       .algorithm = kDcqcn,
       .expected = {17323, 18658, 1.0, 190, 5886, 6481, 0},
       .median_there = IncastFigures{16689, 18590, .999, 198, 6234, 6624, 0}},
      {"16:1 HPCC", 16, kLong, kHpcc, {10888, 14757, .992, 2, 7, 854, 0}, {}},
      {"16:1 TIMELY", 16, kLong, kTimely, {14914, 15632, 1.0, 353, 14103, 15365, 0}, {}},
      {.name = "64:1 DCQCN",
       .senders = 64,
       .bytes = kShort,
       .algorithm = kDcqcn,
       .expected = {5491, 14682, .975, 11261, 28368, 29433, 288},
       .median_there = IncastFigures{8277, 14727, .984, 10743, 28429, 29431, 286}},
      {"64:1 HPCC", 64, kShort, kHpcc, {10184, 11731, .999, 3, 2425, 3575, 0}, {}}};
  return all;
}

IncastFigures run_incast(const Incast& incast, std::uint64_t seed) {
  return World{incast, seed}.figures();
}

std::vector<IncastFigures> run_incasts(const Incast& incast, std::uint64_t seeds) {
  if (!incast.median_there) seeds = 1;  // deterministic
  std::vector<IncastFigures> runs;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) runs.push_back(run_incast(incast, seed));
  return runs;
}

IncastFigures median_of(const std::vector<IncastFigures>& runs) {
  const auto of = [&](auto member) {
    std::vector<double> values;
    for (const IncastFigures& run : runs) values.push_back(static_cast<double>(run.*member));
    return median(values);
  };
  return {.first = of(&IncastFigures::first),
          .last = of(&IncastFigures::last),
          .jain = of(&IncastFigures::jain),
          .queue_median = of(&IncastFigures::queue_median),
          .queue_p99 = of(&IncastFigures::queue_p99),
          .queue_most = of(&IncastFigures::queue_most),
          .pauses = static_cast<std::uint64_t>(of(&IncastFigures::pauses))};
}

}  // namespace nerve::sim::test
