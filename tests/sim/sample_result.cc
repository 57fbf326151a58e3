#include "tests/sim/sample_result.h"

namespace nerve::sim::test {
namespace {

using std::chrono::microseconds;

Time at(std::int64_t us) { return Time{microseconds{us}}; }

JobResult collective() {
  JobResult job;
  job.name = "train";
  job.work = "ring all-reduce of 1 MB, 2 ranks";
  job.done = true;
  job.start = at(10);
  job.end = at(310);
  job.steps = {microseconds{90}, microseconds{110}, microseconds{100}};
  job.bound = microseconds{80};
  job.bound_is = "2 S (N - 1)/N at 100 Gb/s";
  job.bytes_moved = 6'000'000;
  job.bus_bandwidth = 10e9;
  job.ranks = {{.compute = 75'000'000, .exposed = 25'000'000},
               {.compute = 60'000'000, .exposed = 40'000'000}};
  return job;
}

JobResult flows() {
  JobResult job;
  job.name = "burst";
  job.work = "5 flows";
  job.trouble = "one flow did not end";
  job.end = at(100);
  const auto flow = [](std::uint64_t bytes, std::int64_t us, std::int64_t ideal_us) {
    return FlowResult{0, 1, bytes, at(0), at(us), microseconds{ideal_us}};
  };
  job.flows = {flow(5'000, 10, 5), flow(5'000, 20, 5), flow(5'000, 30, 5), flow(5'000'000, 100, 50),
               flow(5'000, 0, 5)};
  job.flow_count = 5;
  return job;
}

}  // namespace

RunResult sample_result() {
  RunResult result;
  result.scenario = "sample";
  result.description = "all of it";
  result.version = "0.1.0";
  result.seed = 0xffff'ffff'ffff'fff1;
  result.simulated = microseconds{310};
  result.events = 123'456;
  result.wall_seconds = 0.5;
  result.memory_bytes = 12'000'000;
  result.jobs = {collective(), flows()};
  result.totals = {.data_packets = 2000,
                   .data_bytes = 8'000'000,
                   .marked = 20,
                   .dropped = 3,
                   .lost = 1,
                   .pauses = 7,
                   .paused = microseconds{12},
                   .retransmitted = 40,
                   .timeouts = 2,
                   .congestion_notices = 15,
                   .failed_messages = 1,
                   .cpu = Duration{7}};
  result.nodes = {{"nic0", 0, false}, {"nic1", 0, false}, {"leaf0", 1, true}};
  const auto link = [](std::uint32_t from, std::uint32_t to, double utilisation,
                       std::uint32_t queued) {
    return LinkResult{.from = from,
                      .to = to,
                      .rate_bps = 100'000'000'000,
                      .bytes = 2'000'000,
                      .utilisation = utilisation,
                      .most_queued = queued,
                      .marked = 10,
                      .dropped = 2,
                      .lost = 1,
                      .pauses = 4,
                      .paused = microseconds{6}};
  };
  result.links = {link(0, 2, 0.5, 4200), link(2, 0, 0.25, 0), link(1, 2, 0.25, 8400),
                  link(2, 1, 0.75, 1'000'000)};
  result.sample_every = microseconds{100};
  result.series = {{"goodput", "Gb/s", {1.5, 90.123, 0}}, {"deepest:leaf", "bytes", {0, 1e6, 17}}};
  result.remarks = {"a cable failed: \"leaf0\" \\ nic1", "nothing else"};
  result.why = {{.job = "train",
                 .took = microseconds{300},
                 .floor = microseconds{240},
                 .excess = microseconds{60},
                 .causes = {{.kind = "incast",
                             .time = microseconds{48},
                             .share = 0.8,
                             .at_most = true,
                             .where = "leaf0>nic1",
                             .text = "At most 80 % of it: incast."}},
                 .paragraph = "A step took 100 us. At most 80 % of it: incast."}};
  result.trials = {{.cause = "incast",
                    .set = {"nic.congestion=swift"},
                    .job = "train",
                    .done = true,
                    .took = microseconds{250},
                    .takes_away = 0.8125,
                    .error = ""}};
  return result;
}

}  // namespace nerve::sim::test
