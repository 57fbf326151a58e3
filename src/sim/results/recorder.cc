#include "sim/results/recorder.h"

#include <algorithm>
#include <utility>

#include "sim/results/fabric_result.h"
#include "sim/results/thin.h"

namespace nerve::sim {
namespace {

constexpr std::uint64_t kBitsTimesPicoseconds = 8'000'000'000'000;

// Flows have few events, and in a large fabric samples would take most of the time.
std::size_t most_samples(Simulation& simulation) {
  constexpr std::size_t kPortsRead = 1U << 26U;
  constexpr std::size_t kLeast = 64;
  if (simulation.flows() == nullptr) return Recorder::kMostSamples;
  const std::size_t ports = std::max<std::size_t>(1, simulation.fabric().ports().size());
  return std::clamp(kPortsRead / ports / 2 * 2, kLeast, Recorder::kMostSamples);
}

// The interval and the number of samples.
std::pair<Duration, std::size_t> pace_of(Simulation& simulation, const SampleColumns& columns,
                                         const OutputSpec& output) {
  if (output.sample_every.count() <= 0) {
    return {Recorder::kFirstInterval, most_samples(simulation)};
  }
  const std::size_t room = Recorder::kMostValues / columns.merges().size() / 2 * 2;
  return {output.sample_every,
          std::clamp(room, Recorder::kMostSamples, Recorder::kMostFixedSamples)};
}

Samples samples_for(Simulation& simulation, const SampleColumns& columns,
                    const OutputSpec& output) {
  const auto [every, most] = pace_of(simulation, columns, output);
  return {columns.merges(), every, most};
}

// Bytes that have left the port, with the sent part of the current packet.
std::uint64_t sent_by(const Port& port, Time now) {
  const std::uint64_t sent = port.sent_bytes + port.sent_packets * Fabric::gap(port);
  if (port.free_at <= now) return sent;
  const auto rest = static_cast<std::uint64_t>((port.free_at - now).count());
  return sent - std::min(sent, rest * port.rate.bits_per_second() / kBitsTimesPicoseconds);
}

// The end of the last job if all are done, otherwise now.
Time end_of(std::span<const JobResult> jobs, Time now) {
  Time end{};
  for (const JobResult& job : jobs) {
    if (!job.done) return now;
    end = std::max(end, job.end);
  }
  return jobs.empty() ? now : end;
}

Totals& operator+=(Totals& sum, const Totals& more) {
  sum.data_packets += more.data_packets;
  sum.data_bytes += more.data_bytes;
  sum.marked += more.marked;
  sum.dropped += more.dropped;
  sum.lost += more.lost;
  sum.pauses += more.pauses;
  sum.paused += more.paused;
  sum.retransmitted += more.retransmitted;
  sum.timeouts += more.timeouts;
  sum.congestion_notices += more.congestion_notices;
  sum.failed_messages += more.failed_messages;
  sum.watchdog_trips += more.watchdog_trips;
  sum.policy_fallbacks += more.policy_fallbacks;
  sum.trimmed += more.trimmed;
  sum.link_retries += more.link_retries;
  return sum;
}

}  // namespace

Recorder::Recorder(Simulation& simulation, const OutputSpec& output)
    : simulation_{simulation},
      output_{output},
      nodes_{nodes_of(simulation.fabric().graph())},
      links_{links_of(simulation.fabric().graph())},
      columns_{nodes_, links_},
      samples_{samples_for(simulation, columns_, output)},
      congestion_{simulation, nodes_, links_, samples_.every(),
                  pace_of(simulation, columns_, output).second},
      watched_(links_.size()) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    watched_[i].byte_time =
        static_cast<double>(kBitsTimesPicoseconds) / static_cast<double>(links_[i].rate_bps);
  }
  simulation_.on_sample([this] {
    if (stopped_) return;
    const bool due = simulation_.now() >= taken_ + samples_.every();  // it may have become longer
    if (due) take();
    if (!simulation_.idle()) arm();
  });
  arm();
}

Recorder::~Recorder() {
  simulation_.on_sample([] {});  // one sample event may still be pending
}

void Recorder::expect_at_least(Duration run) {
  if (simulation_.flows() == nullptr || output_.sample_every.count() > 0) return;
  const auto most = static_cast<std::int64_t>(most_samples(simulation_));
  Duration every = samples_.every();
  while (every * most < run) every *= 2;
  samples_.widen(every);
  congestion_.widen(every);
}

void Recorder::arm() { simulation_.sample_at(taken_ + samples_.every()); }

void Recorder::stop() {
  if (stopped_) return;
  stopped_ = true;
  if (taken_ < simulation_.now()) take();
}

std::uint64_t Recorder::delivered() const {
  std::uint64_t bytes = also_delivered_ ? also_delivered_() : 0;
  if (FlowNetwork* const flows = simulation_.flows()) {
    return bytes + flows->counters().delivered_bytes;
  }
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (const auto nic = simulation_.find_figures(NodeId{i})) bytes += nic->bytes_received;
  }
  return bytes;
}

void Recorder::look_at(std::uint32_t number, Duration since, std::span<std::uint64_t> row,
                       Counts& counts) {
  constexpr double kMillion = 1e6;
  Port& port = simulation_.fabric().port(PortId{number});
  Watched& watched = watched_[number];
  const SampleColumns::Place& place = columns_.places()[number];
  const Time now = simulation_.now();

  const std::uint64_t sent = sent_by(port, now);
  const std::uint64_t step = sent > watched.sent ? sent - watched.sent : 0;
  watched.sent = std::max(watched.sent, sent);
  const double share =
      static_cast<double>(step) * watched.byte_time / static_cast<double>(since.count());
  const auto millionths = static_cast<std::uint64_t>(std::min(share, 1.0) * kMillion);
  row[place.group] += step;
  row[place.group + 1] = std::max(row[place.group + 1], millionths);
  congestion_.look(number, std::min(share, 1.0));

  const std::uint32_t peak = std::exchange(port.most_queued, port.queued);
  watched.most_queued = std::max(watched.most_queued, peak);
  if (place.tier != SampleColumns::kNone) {
    row[place.tier] = std::max<std::uint64_t>(row[place.tier], peak);
    row[place.tier + 1] += port.queued;
    row[place.queue] = std::max<std::uint64_t>(row[place.queue], peak);
  }

  counts[SampleColumns::kPaused] += paused_time_ps(port, now);
  counts[SampleColumns::kMarked] += port.counters.marked_packets;
  counts[SampleColumns::kDropped] += port.counters.dropped_packets;
  counts[SampleColumns::kLost] += port.counters.lost_packets;
}

void Recorder::take() {
  simulation_.update_records();
  const Time now = simulation_.now();
  const std::span<std::uint64_t> row = samples_.add();
  if (simulation_.flows() != nullptr) simulation_.flows()->count_ports();
  Counts counts{};
  counts[SampleColumns::kDelivered] = delivered();
  congestion_.begin(now - taken_);
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (simulation_.records(PortId{i})) look_at(i, now - taken_, row, counts);
  }
  congestion_.end(stopped_);
  for (std::size_t i = 0; i < counts.size(); ++i) row[i] = counts[i] - counted_[i];
  counted_ = counts;
  taken_ = now;
  if (!stopped_) samples_.settle();
}

void Recorder::add_samples(Time end, RunResult& result) {
  const std::int64_t every = samples_.every().count();
  const std::int64_t run = std::max<std::int64_t>(0, (end - Time{}).count());
  samples_.cut(static_cast<std::size_t>((run + every - 1) / every));
  result.sample_every = samples_.every();
  if (samples_.size() > 0) {
    // Only the last sample may be shorter; a sample within the run is complete.
    const Duration begun = samples_.every() * static_cast<std::int64_t>(samples_.size() - 1);
    const Duration last = std::min(samples_.every(), (taken_ - Time{}) - begun);
    result.series = columns_.series(samples_, last, output_.top_ports);
    if (simulation_.flows() != nullptr) result.series.resize(columns_.series_of_flows());
  }
  if (output_.sample_every.count() > 0 && samples_.every() != output_.sample_every) {
    result.remarks.push_back("samples were too many for their interval, which was doubled to " +
                             std::to_string(every / 1'000'000) + " us");
  }
}

void Recorder::finish(std::vector<JobResult> jobs, RunResult& result) {
  stop();
  simulation_.update_records();
  congestion_.share_flows();
  const Time now = simulation_.now();
  const Time end = end_of(jobs, now);
  result.jobs = std::move(jobs);
  thin_flows(result);
  result.simulated = end - Time{};
  result.events = simulation_.events();
  result.totals += totals_of(simulation_);
  result.nodes = nodes_;
  result.links = links_;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    result.links[i].most_queued = watched_[i].most_queued;
  }
  count_links(simulation_, result.simulated, result.links);
  add_samples(end, result);
}

}  // namespace nerve::sim
