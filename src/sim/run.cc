#include "sim/run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/fabric/faults.h"
#include "sim/fabric/path_time.h"
#include "sim/flow_setup.h"
#include "sim/results/recorder.h"
#include "sim/run_evidence.h"
#include "sim/run_ranks.h"
#include "sim/run_setup.h"
#include "sim/why/words.h"
#include "sim/workload/make_job.h"

namespace nerve::sim {
namespace {

using Jobs = std::vector<std::unique_ptr<Job>>;
using WallClock = std::chrono::steady_clock;

constexpr std::uint64_t kBatch = 100'000;  // events between two checks of the wall clock
constexpr std::chrono::milliseconds kBetweenReports{100};
constexpr std::uint32_t kAroundRdma = kEthernetBytes + 20 + 8 + 12 + 4;  // IP, UDP, BTH, ICRC
constexpr std::uint32_t kAroundTcp = kEthernetBytes + kIpAndTcp;
constexpr std::uint32_t kGap = 20;

JobContext context_for(const Scenario& scenario, const JobSpec& spec, std::uint32_t number,
                       Cluster& cluster, Simulation& simulation, const RunSetup& setup) {
  const ClusterShape& shape = cluster.shape();
  const NicRates& rate = setup.nic_rates[spec.on_front_end ? 1 : 0];
  const NicSpec& nics = spec.on_front_end ? scenario.front_end_nics : scenario.nics;
  const bool tcp = nics.transport == Transport::kTcp;
  const std::uint32_t around = tcp ? kAroundTcp : kAroundRdma;
  const std::uint32_t payload = tcp ? scenario.tcp.mtu - kIpAndTcp : nic::bytes(nics.mtu);
  const bool on_front_end = spec.on_front_end;
  // From the end of sending a packet to its arrival.
  const auto delay_between = [&shape, &simulation, on_front_end, bytes = payload + around](
                                 PlaceId from, PlaceId to) {
    if (shape.server_of(from) == shape.server_of(to)) return Duration{};
    const bool front = shape.by_front_end({from, to, 0, on_front_end, {}});
    Fabric& fabric = simulation.fabric();
    const NodeId first = shape.nic_of(from, to, 0, front);
    const NodeId last = shape.nic_of(to, from, 0, front);
    const Duration whole = path_time(fabric, first, last, bytes);
    const Duration leaving = fabric.port(fabric.first_port(first)).line.time_of(bytes);
    return std::max(Duration{}, whole - leaving);
  };
  JobContext context{.messenger = cluster, .number = number};
  for (const std::uint32_t gpu :
       place_ranks(spec, shape.servers, shape.gpus, scenario.seed + number)) {
    context.places.emplace_back(gpu);
    context.server_of_rank.push_back(gpu / shape.gpus);
  }
  for (std::uint32_t i = 0; i < shape.storage; ++i)
    context.storage.push_back(shape.storage_place(i));
  context.seed = scenario.seed + number;
  const Rate pcie = scenario.servers.pcie;
  context.nic_rate = pcie == Rate{} ? rate.slowest : std::min(pcie, rate.slowest);
  if (rate.differ()) {
    context.rate_of = [&shape, &simulation, on_front_end](PlaceId place) {
      const bool front = shape.by_front_end({place, place, 0, on_front_end, {}});
      return simulation.fabric().rate_of(shape.nic_of(place, place, 0, front));
    };
  }
  context.interconnect = setup.cluster.interconnect;
  context.storage_rate = scenario.storage ? scenario.storage->rate : Rate{};
  context.nics_per_server = on_front_end ? 1 : shape.nics;
  context.gpus_per_server = shape.gpus;
  context.mtu = payload;
  context.header_bytes = around + kGap;
  if (tcp) context.least_chunk = 512U << 10U;  // system calls, wake-ups, delayed ACKs
  context.interconnect_delay = setup.cluster.interconnect_delay;
  context.network_delay =
      longest_round_trip(simulation.fabric(), on_front_end ? 1 : 0, payload + around) / 2;
  context.delay_between = delay_between;
  return context;
}

// Why a job is not done.
std::string trouble_of(const Cluster& cluster, std::uint32_t number, const JobResult& job,
                       Duration until, bool more_to_happen) {
  if (const std::string& lost = cluster.trouble(number); !lost.empty()) return lost;
  const std::string waits = job.trouble.empty() ? "" : ": " + job.trouble;
  if (!more_to_happen) return "nothing is left to happen, and it is not done" + waits;
  return fmt::format("not done after {} s{}", static_cast<double>(until.count()) / 1e12, waits);
}

std::uint64_t delivered_by_tcp(Simulation& simulation) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < simulation.fabric().graph().nodes.size(); ++i) {
    const TcpNic* const nic = simulation.find_tcp_nic(NodeId{i});
    if (nic != nullptr) bytes += nic->counters().delivered_bytes;
  }
  return bytes;
}

void add_tcp(Simulation& simulation, Duration over, RunResult& result) {
  Duration cpu{};
  std::uint64_t cores = 0;
  std::uint64_t dropped = 0;
  for (std::uint32_t i = 0; i < simulation.fabric().graph().nodes.size(); ++i) {
    const TcpNic* const nic = simulation.find_tcp_nic(NodeId{i});
    if (nic == nullptr) continue;
    const TcpCounters& counters = nic->counters();
    result.totals.data_packets += counters.data_packets;
    result.totals.data_bytes += counters.data_bytes;
    result.totals.retransmitted += counters.retransmitted;
    result.totals.timeouts += counters.timeouts;
    dropped += counters.dropped;
    cpu += nic->cpu_time();
    cores += nic->cores();
  }
  if (cores == 0) return;
  result.totals.dropped += dropped;
  result.totals.cpu += cpu;
  const double seconds = static_cast<double>(cpu.count()) / 1e12;
  const double available = static_cast<double>(over.count()) / 1e12 * static_cast<double>(cores);
  result.remarks.push_back(
      fmt::format("TCP took {:.6f} s of processor time, {:.1f} % of the {} cores that it may use",
                  seconds, available > 0 ? 100 * seconds / available : 0, cores));
  if (dropped == 0) return;
  result.remarks.push_back(
      fmt::format("{} packets were dropped by hosts whose cores were too slow", dropped));
}

void add_flows(const Scenario& scenario, Simulation& simulation, RunResult& result) {
  result.fidelity = kFlowFidelity;
  result.totals.data_bytes += simulation.flows()->counters().sent_bytes;
  for (std::string& doubt : doubts_about_flows(scenario, simulation)) {
    result.remarks.push_back("doubtful: " + std::move(doubt));
  }
}

void note_pcie(const Scenario& scenario, Rate rate, RunResult& result) {
  const Rate pcie = scenario.servers.pcie;
  const auto gigabits = [](Rate r) { return static_cast<double>(r.bits_per_second()) / 1e9; };
  if (const std::uint32_t share = scenario.servers.nics_per_pcie; share > 1) {
    result.remarks.push_back(fmt::format("each {} NICs of {:g} Gb/s share a PCIe link of {:g}",
                                         share, gigabits(rate), gigabits(pcie)));
  }
  if (pcie == Rate{} || rate <= pcie) return;
  result.remarks.push_back(fmt::format("NICs of {:g} Gb/s are held to {:g} by servers.pcie",
                                       gigabits(rate), gigabits(pcie)));
}

void note_misses(std::string_view what, std::uint64_t lookups, std::uint64_t misses,
                 RunResult& result) {
  if (misses == 0) return;
  result.remarks.push_back(
      fmt::format("the caches of NICs did not hold {} in {} of {} lookups ({:.1f} %)", what, misses,
                  lookups, 100 * static_cast<double>(misses) / static_cast<double>(lookups)));
}

void add_nic_caches(const Simulation& simulation, RunResult& result) {
  std::uint64_t lookups = 0;
  std::uint64_t contexts = 0;
  std::uint64_t page_lookups = 0;
  std::uint64_t pages = 0;
  for (std::uint32_t i = 0; i < simulation.nodes(); ++i) {
    const auto nic = simulation.find_figures(NodeId{i});
    if (!nic) continue;
    lookups += nic->context_lookups;
    contexts += nic->context_misses;
    page_lookups += nic->page_lookups;
    pages += nic->page_misses;
  }
  note_misses("the QP context", lookups, contexts, result);
  note_misses("the address translation", page_lookups, pages, result);
}

void add_admission(const Scenario& scenario, const Cluster& cluster, RunResult& result) {
  for (const bool front : {false, true}) {
    const Admission& admission = cluster.admission(front);
    if (admission.permissions() == 0) continue;
    const NicSpec& nics = front ? scenario.front_end_nics : scenario.nics;
    result.remarks.push_back(fmt::format(
        "{}receivers sent {} clear-to-send messages; at most {} B were on their way to one of "
        "them, of {} that it allows",
        front ? "front end: " : "", admission.permissions(), admission.most_outstanding(),
        nics.admission.limit));
  }
}

std::uint64_t resident_bytes() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// Zero if a job cannot estimate it.
std::uint64_t bytes_planned(const Jobs& jobs) {
  std::uint64_t all = 0;
  for (const std::unique_ptr<Job>& job : jobs) {
    const std::uint64_t bytes = job->bytes_planned();
    if (bytes == 0) return 0;
    all += bytes;
  }
  return all;
}

// Prepares the traces of the two NICs; returns what is wrong with the choice.
std::string begin_trace(RunTrace& trace, RunSetup& setup) {
  const ClusterShape& shape = setup.cluster.shape;
  for (const std::uint32_t gpu : {trace.from, trace.to}) {
    if (gpu >= shape.all_gpus()) {
      return fmt::format("trace: there is no GPU {}; the last one is {}", gpu,
                         shape.all_gpus() - 1);
    }
  }
  const PlaceId from{trace.from};
  const PlaceId to{trace.to};
  if (shape.server_of(from) == shape.server_of(to)) {
    return fmt::format("trace: GPUs {} and {} are in one server and use no NIC", trace.from,
                       trace.to);
  }
  trace.nics.clear();
  trace.nics.reserve(2);  // the NICs refer to them
  trace.nics.emplace_back(shape.nic_of(from, to, 0, false), trace.messages);
  trace.nics.emplace_back(shape.nic_of(to, from, 0, false), trace.messages);
  for (SimulatedNetwork& network : setup.networks) network.nics.traces = trace.nics;
  return {};
}

void let_time_pass(Simulation& simulation, const Cluster& cluster, const Recorder& recorder,
                   const Jobs& jobs, Time limit, const RunOptions& options) {
  const std::uint64_t planned = options.progress ? bytes_planned(jobs) : 0;
  WallClock::time_point reported = WallClock::now();
  while (!cluster.over() && simulation.run(limit, kBatch) >= kBatch) {
    if (!options.progress || WallClock::now() - reported < kBetweenReports) continue;
    reported = WallClock::now();
    const std::uint64_t moved = recorder.delivered() + cluster.bytes_within_servers();
    options.progress(
        {.now = simulation.now(),
         .events = simulation.events(),
         .jobs_done = cluster.jobs_over(),
         .jobs = static_cast<std::uint32_t>(jobs.size()),
         .share = planned == 0 ? 0 : static_cast<double>(moved) / static_cast<double>(planned)});
  }
}

struct Prepared {
  RunSetup setup;
  Faults faults;
};

Result<Prepared, std::string> prepare(const Scenario& scenario, const RunOptions& options,
                                      CheckedMemory& payload) {
  const bool flows = scenario.fidelity == Fidelity::kFlow;
  if (flows) {
    if (std::string why = objection_to_flows(scenario); !why.empty()) return Unexpected{why};
  }
  auto setup = flows ? lay_out(scenario, payload) : set_up(scenario, payload);
  if (!setup) return Unexpected{setup.error()};
  if (flows) use_flows(scenario, *setup);
  if (options.trace != nullptr) {
    if (flows) return Unexpected{std::string{"trace: there are no packets with fidelity \"flow\""}};
    if (std::string why = begin_trace(*options.trace, *setup); !why.empty()) return Unexpected{why};
  }
  auto faults = Faults::find(setup->graph, scenario.faults);
  if (!faults) return Unexpected{faults.error()};
  return Prepared{*std::move(setup), *std::move(faults)};
}

struct BuiltJobs {
  Jobs jobs;
  std::vector<JobEvidence> evidence;
  std::string why;  // they cannot be built
};

BuiltJobs build_jobs(const Scenario& scenario, Cluster& cluster, Simulation& simulation,
                     const RunSetup& setup) {
  BuiltJobs made;
  for (const JobSpec& spec : scenario.jobs) {
    const auto number = static_cast<std::uint32_t>(made.jobs.size());
    JobContext context = context_for(scenario, spec, number, cluster, simulation, setup);
    made.evidence.push_back(evidence_of(context, cluster.shape(), spec.on_front_end));
    auto job = make_job(spec, std::move(context));
    if (!job) {
      made.why = job.error();
      return made;
    }
    made.jobs.push_back(std::move(*job));
    cluster.add(*made.jobs.back(), spec.start);
  }
  return made;
}

}  // namespace

Result<RunResult, std::string> run(const Scenario& scenario, const RunOptions& options) {
  const WallClock::time_point began = WallClock::now();
  CheckedMemory payload;
  const bool flows = scenario.fidelity == Fidelity::kFlow;
  Ranks* ranks = options.ranks;
  auto prepared = prepare(scenario, options, payload);
  std::string why = prepared ? "" : prepared.error();
  if (ranks != nullptr) why = first_trouble(*ranks, why);
  if (why.empty() && ranks != nullptr) why = objection_to_ranks(*ranks, prepared->setup, options);
  if (!why.empty()) return Unexpected{why};
  RunSetup& setup = prepared->setup;
  if (ranks != nullptr && runs_alone(scenario, setup, options)) {
    if (ranks->rank() != 0) return RunResult{};
    ranks = nullptr;
  }
  Simulation simulation{{.seed = scenario.seed,
                         .post_delay = scenario.servers.post_delay,
                         .cores = options.cores,
                         .ranks = ranks},
                        setup.graph,
                        setup.networks};
  Cluster cluster{simulation, setup.cluster};
  Recorder recorder{simulation, scenario.output};
  recorder.also_delivered([&simulation] { return delivered_by_tcp(simulation); });
  recorder.congestion().expect(hints_for(scenario));
  auto [jobs, evidence, no_jobs] = build_jobs(scenario, cluster, simulation, setup);
  if (ranks != nullptr) no_jobs = first_trouble(*ranks, no_jobs);
  if (!no_jobs.empty()) return Unexpected{no_jobs};
  Duration least{};
  for (const std::unique_ptr<Job>& job : jobs) least = std::max(least, job->result().bound);
  recorder.expect_at_least(least);
  simulation.schedule(std::move(prepared->faults));
  let_time_pass(simulation, cluster, recorder, jobs, Time{scenario.until}, options);

  simulation.update_records();
  const OfRank sums =
      sum_over_ranks(simulation, {payload.checked(), payload.wrong(), resident_bytes()});
  if (why = simulation.trouble(); !why.empty()) return Unexpected{why};
  RunResult result;
  result.scenario = scenario.name;
  result.description = scenario.description;
  result.version = NERVE_VERSION;
  result.seed = scenario.seed;
  std::vector<JobResult> results;
  const bool more = !simulation.idle();
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    results.push_back(jobs[i]->result());
    JobResult& job = results.back();
    if (!job.done) job.trouble = trouble_of(cluster, i, job, scenario.until, more);
    evidence[i].path = cluster.path(i);
  }
  result.totals.failed_messages = cluster.failed_messages();
  add_tcp(simulation, simulation.now() - Time{}, result);
  if (flows) add_flows(scenario, simulation, result);
  note_pcie(scenario, setup.nic_rates[0].fastest, result);
  add_nic_caches(simulation, result);
  add_admission(scenario, cluster, result);
  if (sums.checked > 0) {
    result.remarks.push_back(
        fmt::format("{} bytes of payload checked, {} wrong", sums.checked, sums.wrong));
  }
  recorder.finish(std::move(results), result);
  if (why = simulation.trouble(); !why.empty()) return Unexpected{why};
  result.why = explain({scenario, result, recorder.congestion(), std::move(evidence)});
  result.wall_seconds = std::chrono::duration<double>(WallClock::now() - began).count();
  result.memory_bytes = sums.memory_bytes;
  return result;
}

}  // namespace nerve::sim
