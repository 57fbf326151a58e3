#include "sim/workload/collective_job.h"

#include <numeric>

#include "sim/workload/lines.h"
#include "sim/workload/words.h"

namespace nerve::sim {
namespace {

std::vector<std::uint32_t> all_ranks(std::uint32_t count) {
  std::vector<std::uint32_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0U);
  return ranks;
}

}  // namespace

Result<std::unique_ptr<Job>, std::string> CollectiveJob::make(const JobSpec& spec,
                                                              const CollectiveSpec& work,
                                                              JobContext context) {
  const auto refuse = [&](const std::string& why) {
    return Unexpected{"job " + spec.name + ": " + why};
  };
  constexpr std::uint32_t kMostIterations = 1'000'000;
  if (context.ranks() < 2) {
    return refuse("a collective needs at least 2 ranks, but the job has " +
                  std::to_string(context.ranks()));
  }
  if (work.iterations == 0 || work.iterations > kMostIterations) {
    return refuse("iterations is " + std::to_string(work.iterations) + ", expected 1 to " +
                  std::to_string(kMostIterations));
  }
  if (work.chunks == 0) return refuse("chunks is 0, expected at least 1");
  std::unique_ptr<CollectiveJob> job{new CollectiveJob{spec, work, std::move(context)}};
  if (auto why = objection(job->operation_, job->communicators_.layout(job->group_))) {
    return refuse(*why);
  }
  job->find_bound();
  return std::unique_ptr<Job>{std::move(job)};
}

CollectiveJob::CollectiveJob(const JobSpec& spec, const CollectiveSpec& work, JobContext context)
    : TimedJob{spec, std::move(context)},
      communicators_{this->context(), *this, on_front_end()},
      group_{communicators_.add(all_ranks(this->context().ranks()))},
      operation_{resolve({.kind = work.kind,
                          .algorithm = work.algorithm,
                          .bytes = work.bytes,
                          .chunks = work.chunks},
                         communicators_.layout(group_))},
      iteration_of_(this->context().ranks()),
      laps_{work.iterations, this->context().ranks()} {}

void CollectiveJob::begin() {
  for (std::uint32_t rank = 0; rank < context().ranks(); ++rank) {
    communicators_.start(communicators_.seat(group_, rank), operation_);
  }
}

void CollectiveJob::finished(SeatId seat) {
  const std::uint32_t rank = communicators_.rank_of(seat);
  const std::uint32_t iteration = iteration_of_[rank]++;
  laps_.ended(iteration, now());
  if (iteration + 1 < laps_.laps()) communicators_.start(seat, operation_);
}

// Sequential phases add up; within a phase the busiest link decides.
void CollectiveJob::find_bound() {
  const auto plan = make_plan(operation_, communicators_.layout(group_));
  Lines lines{context()};
  std::vector<PeerLoad> loads;
  for (std::uint32_t phase = 0; phase < plan->phases(); ++phase) {
    lines.clear();
    for (std::uint32_t rank = 0; rank < context().ranks(); ++rank) {
      loads.clear();
      plan->load(rank, phase, loads);
      for (const PeerLoad& load : loads) lines.add(rank, load.to, load.bytes);
    }
    bound_ += lines.busiest();
    floor_ += lines.busiest_nic();
  }
  bound_is_ = std::string{words_of(operation_.algorithm)} + " " +
              std::string{words_of(operation_.kind)} +
              ": what its busiest NIC or interconnect carries, at line rate with headers" +
              (plan->phases() > 1 ? ", summed over phases that follow each other" : "");
}

// As defined by nccl-tests: the bytes that a rank must send and receive, divided by the time.
double CollectiveJob::bus_bandwidth(Duration time) const {
  if (time <= Duration::zero()) return 0;
  const auto ranks = static_cast<double>(context().ranks());
  double factor = (ranks - 1) / ranks;
  if (operation_.kind == CollectiveKind::kAllReduce) factor *= 2;
  if (operation_.kind == CollectiveKind::kBroadcast) factor = 1;
  return static_cast<double>(operation_.bytes) * factor * 1e12 / static_cast<double>(time.count());
}

JobResult CollectiveJob::result() const {
  JobResult result = blank_result();
  result.work = std::string{words_of(operation_.algorithm)} + " " +
                std::string{words_of(operation_.kind)} + " of " + bytes_in_words(operation_.bytes) +
                ", " + std::to_string(context().ranks()) + " ranks";
  result.done = done();
  result.bound = bound_;
  result.bound_is = bound_is_;
  result.floor = floor_;
  result.bytes_moved = communicators_.bytes_moved();
  result.steps = laps_.durations(began());
  if (laps_.complete() > 0) {
    result.bus_bandwidth = bus_bandwidth((laps_.end() - began()) / laps_.complete());
  }
  if (done()) {
    result.end = laps_.end();
  } else if (begun()) {
    const std::uint32_t lap = laps_.complete();
    result.trouble = "iteration " + std::to_string(lap + 1) + " of " +
                     std::to_string(laps_.laps()) + ": " + std::to_string(laps_.in_lap_ended(lap)) +
                     " of " + std::to_string(laps_.runners()) + " ranks are through";
  }
  return result;
}

}  // namespace nerve::sim
