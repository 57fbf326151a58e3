// Records a run: samples of its fabric during the run, and all counters at the end.
//
// Its events have no effect on the simulation, and it schedules none when no other event is
// pending, so recording extends a run by at most one interval. A sample reads every port once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/results/congestion.h"
#include "sim/results/run_result.h"
#include "sim/results/sample_columns.h"
#include "sim/results/samples.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"

namespace nerve::sim {

class Recorder {
 public:
  static constexpr Duration kFirstInterval{std::chrono::microseconds{1}};
  static constexpr std::size_t kMostSamples = 1024;
  // The limit for a fixed interval (32 MB of samples). Beyond it the interval doubles as well.
  static constexpr std::size_t kMostFixedSamples = 1U << 18U;
  static constexpr std::size_t kMostValues = 1U << 22U;

  // Create it with the simulation, before any event runs. The simulation must outlive it.
  Recorder(Simulation& simulation, const OutputSpec& output);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Payload received so far by hosts without an engine (TCP); called for each sample.
  void also_delivered(std::function<std::uint64_t()> bytes) { also_delivered_ = std::move(bytes); }

  // Before any event: the run will not be shorter. Flows are then sampled as seldom from the start
  // as they would be at its end.
  void expect_at_least(Duration run);

  // What it has seen of congestion.
  [[nodiscard]] Congestion& congestion() { return congestion_; }

  // Payload received so far by all hosts.
  [[nodiscard]] std::uint64_t delivered() const;

  // Call it when the last job has ended. Engine timers may still be pending for a long time;
  // sampling them would cost resolution of the earlier samples. The last sample is shorter than the
  // others.
  void stop();

  // Fills in everything except scenario, description, version, seed, wall_seconds and memory_bytes.
  // Adds to the `totals` and `remarks` of the caller.
  void finish(std::vector<JobResult> jobs, RunResult& result);

 private:
  using Counts = std::array<std::uint64_t, SampleColumns::kCommon>;

  // State per port for sampling.
  struct Watched {
    std::uint64_t sent{};  // bytes on the cable at the last sample
    double byte_time{};    // picoseconds, at the original rate
    std::uint32_t most_queued{};
  };

  void arm();
  void take();
  void look_at(std::uint32_t port, Duration since, std::span<std::uint64_t> row, Counts& counts);
  void add_samples(Time end, RunResult& result);

  Simulation& simulation_;
  OutputSpec output_;
  std::vector<NodeResult> nodes_;
  std::vector<LinkResult> links_;
  SampleColumns columns_;
  Samples samples_;
  Congestion congestion_;
  std::vector<Watched> watched_;
  Counts counted_{};  // at the last sample
  Time taken_{};      // time of the last sample
  bool stopped_{};
  std::function<std::uint64_t()> also_delivered_;
};

}  // namespace nerve::sim
