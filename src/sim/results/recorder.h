// Watches a run: samples of its fabric while time passes, all that was counted when it is over.
//
// Its events change nothing that others see, and none follows when nothing else is left to happen:
// a run that is watched ends at most one interval later. A sample costs one look at every port.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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
  // Where the scenario fixes the interval: 32 MB of them. Beyond that it doubles all the same.
  static constexpr std::size_t kMostFixedSamples = 1U << 18U;
  static constexpr std::size_t kMostValues = 1U << 22U;

  // Build it when the simulation is, before anything runs. The simulation outlives it.
  Recorder(Simulation& simulation, const OutputSpec& output);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Payload that has reached hosts without an engine (TCP) so far: asked at each sample.
  void also_delivered(std::function<std::uint64_t()> bytes) { also_delivered_ = std::move(bytes); }

  // Payload that has reached all hosts so far.
  [[nodiscard]] std::uint64_t delivered() const;

  // The last job has ended. Events may be left: timers of engines go on for long, and to watch them
  // would cost the samples before them their resolution. The last sample is as long as it is.
  void stop();

  // Fills in all but scenario, description, version, seed, wall_seconds and memory_bytes. What the
  // caller has put into `totals` and `remarks` stays: ours is added.
  void finish(std::vector<JobResult> jobs, RunResult& result);

 private:
  using Counts = std::array<std::uint64_t, SampleColumns::kCommon>;

  // Of each port, what a sample needs to know again and again.
  struct Watched {
    std::uint64_t sent{};  // bytes on the cable at the last sample
    double byte_time{};    // picoseconds, as the cable was built
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
  std::vector<Watched> watched_;
  Counts counted_{};  // up to the last sample
  Time taken_{};      // when that was
  bool stopped_{};
  std::function<std::uint64_t()> also_delivered_;
};

}  // namespace nerve::sim
