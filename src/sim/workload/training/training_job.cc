#include "sim/workload/training/training_job.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/workload/training/objections.h"
#include "sim/workload/words.h"

namespace nerve::sim {
namespace {

Duration scaled(Duration time, double slowdown) {
  return Duration{std::llround(static_cast<double>(time.count()) * slowdown)};
}

}  // namespace

Result<std::unique_ptr<Job>, std::string> TrainingJob::make(const JobSpec& spec,
                                                            const TrainingSpec& work,
                                                            JobContext context) {
  const std::string name = "job " + spec.name + ": ";
  if (auto why = objection_to(work, context.ranks())) return Unexpected{name + *why};
  std::unique_ptr<TrainingJob> job{new TrainingJob{spec, work, std::move(context)}};
  if (auto why = job->objection_to_groups()) return Unexpected{name + *why};
  return std::unique_ptr<Job>{std::move(job)};
}

TrainingJob::TrainingJob(const JobSpec& spec, const TrainingSpec& work, JobContext context)
    : TimedJob{spec, std::move(context)},
      work_{work},
      communicators_{this->context(), *this, on_front_end()},
      ranks_(this->context().ranks()),
      laps_{work.steps, this->context().ranks()} {
  for (std::uint32_t stage = 0; stage < work.parallelism.pipeline; ++stage) {
    programs_.push_back(program_of_stage(work, stage));
  }
  const std::uint32_t of_stage = work.parallelism.data * work.parallelism.tensor;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank].stage = rank / of_stage;
    ranks_[rank].seats.fill(kNoSeat);
  }
  for (const Straggler& straggler : spec.stragglers) {
    ranks_[straggler.rank].slowdown = straggler.slowdown;
  }
  join_groups();
  find_bound();
}

std::uint32_t TrainingJob::rank_at(std::uint32_t stage, std::uint32_t data,
                                   std::uint32_t tensor) const {
  return (stage * work_.parallelism.data + data) * work_.parallelism.tensor + tensor;
}

void TrainingJob::join_groups() {
  const ParallelismSpec& by = work_.parallelism;
  std::vector<std::uint32_t> group;
  for (std::uint32_t stage = 0; stage < by.pipeline; ++stage) {
    for (std::uint32_t d = 0; d < by.data; ++d) {
      group.clear();
      for (std::uint32_t t = 0; t < by.tensor; ++t) group.push_back(rank_at(stage, d, t));
      join(Channel::kTensor, group);
    }
    for (std::uint32_t t = 0; t < by.tensor; ++t) {
      group.clear();
      for (std::uint32_t d = 0; d < by.data; ++d) group.push_back(rank_at(stage, d, t));
      join(Channel::kData, group);
      for (std::uint32_t first = 0; first < by.data; first += by.expert) {
        group.clear();
        for (std::uint32_t i = 0; i < by.expert; ++i) group.push_back(rank_at(stage, first + i, t));
        join(Channel::kExpert, group);
      }
      if (work_.model.experts == 0) continue;
      for (std::uint32_t i = 0; i < by.expert; ++i) {
        group.clear();
        for (std::uint32_t d = i; d < by.data; d += by.expert)
          group.push_back(rank_at(stage, d, t));
        join(Channel::kExpertData, group);
      }
    }
  }
  for (std::uint32_t d = 0; d < by.data; ++d) {
    for (std::uint32_t t = 0; t < by.tensor; ++t) join_stages(d, t);
  }
}

void TrainingJob::join(Channel channel, const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() < 2) return;
  const GroupId group = communicators_.add(ranks);
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    ranks_[ranks[i]].seats[static_cast<std::size_t>(channel)] = communicators_.seat(group, i);
  }
  if (channel == Channel::kData || channel == Channel::kExpertData) {
    gradient_groups_.push_back(group);
  }
}

void TrainingJob::join_stages(std::uint32_t data, std::uint32_t tensor) {
  for (std::uint32_t stage = 0; stage + 1 < work_.parallelism.pipeline; ++stage) {
    const std::uint32_t here = rank_at(stage, data, tensor);
    const std::uint32_t after = rank_at(stage + 1, data, tensor);
    link(here, Channel::kActivationsOut, after, Channel::kActivationsIn);
    link(after, Channel::kGradientsOut, here, Channel::kGradientsIn);
  }
}

// A point-to-point message is a broadcast in a group of two.
void TrainingJob::link(std::uint32_t from, Channel out, std::uint32_t to, Channel in) {
  const GroupId group = communicators_.add({from, to});
  ranks_[from].seats[static_cast<std::size_t>(out)] = communicators_.seat(group, 0);
  ranks_[to].seats[static_cast<std::size_t>(in)] = communicators_.seat(group, 1);
}

Operation TrainingJob::operation_of(const Instruction& instruction) const {
  Operation operation{.kind = instruction.collective,
                      .algorithm = CollectiveAlgorithm::kAuto,
                      .bytes = instruction.value,
                      .chunks = 0};
  switch (instruction.channel) {
    case Channel::kData:
    case Channel::kExpertData:
      operation.algorithm = work_.algorithm;
      break;
    case Channel::kTensor:
    case Channel::kExpert:
      break;
    default:  // between stages, as a whole
      operation.algorithm = CollectiveAlgorithm::kRing;
      operation.chunks = 1;
  }
  return operation;
}

std::optional<std::string> TrainingJob::objection_to_groups() const {
  for (const GroupId group : gradient_groups_) {
    const GroupLayout& layout = communicators_.layout(group);
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
      if (work_.shard_optimizer == (kind == CollectiveKind::kAllReduce)) continue;
      const Operation asked{.kind = kind, .algorithm = work_.algorithm, .bytes = 1, .chunks = 1};
      if (auto why = objection(resolve(asked, layout), layout)) return "gradients: " + *why;
    }
  }
  return std::nullopt;
}

// A stage runs all micro-batches. Before its first and after its last one, the earlier stages run
// one micro-batch alone.
void TrainingJob::find_bound() {
  const ParallelismSpec& by = work_.parallelism;
  const Duration of_layer = cost_of_layer(work_).forward_and_backward();
  for (std::uint32_t d = 0; d < by.data; ++d) {
    Duration before{};
    for (std::uint32_t stage = 0; stage < by.pipeline; ++stage) {
      double slowdown = 0;
      for (std::uint32_t t = 0; t < by.tensor; ++t) {
        slowdown = std::max(slowdown, ranks_[rank_at(stage, d, t)].slowdown);
      }
      const Duration batch = scaled(of_layer * layers_of_stage(work_, stage), slowdown);
      bound_ = std::max(bound_, before + batch * work_.micro_batches);
      before += batch;
    }
  }
}

void TrainingJob::begin() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) go_on(rank);
}

void TrainingJob::go_on(std::uint32_t number) {
  Rank& rank = ranks_[number];
  const Program& program = programs_[rank.stage];
  while (rank.step < work_.steps) {
    if (rank.at == program.size()) {
      laps_.ended(rank.step, now());
      ++rank.step;
      rank.at = 0;
      continue;
    }
    if (!follow(number, rank, program[rank.at++])) return;
  }
}

// Returns false if the rank must wait.
bool TrainingJob::follow(std::uint32_t number, Rank& rank, const Instruction& instruction) {
  const SeatId seat = instruction.channel == Channel::kNone
                          ? kNoSeat
                          : rank.seats[static_cast<std::size_t>(instruction.channel)];
  switch (instruction.kind) {
    case Instruction::Kind::kCompute: {
      const Duration time =
          scaled(Duration{static_cast<std::int64_t>(instruction.value)}, rank.slowdown);
      rank.time.compute += static_cast<std::uint64_t>(time.count());
      context().messenger.after(time, {context().number, number, 0});
      return false;
    }
    case Instruction::Kind::kStart:
      communicators_.start(seat, operation_of(instruction));
      return true;
    case Instruction::Kind::kWait:
      if (communicators_.idle(seat)) return true;
      rank.waits_for = instruction.channel;
      rank.since = now();
      return false;
  }
  return true;
}

void TrainingJob::finished(SeatId seat) {
  const std::uint32_t number = communicators_.rank_of(seat);
  Rank& rank = ranks_[number];
  if (rank.waits_for == Channel::kNone) return;
  if (rank.seats[static_cast<std::size_t>(rank.waits_for)] != seat) return;
  if (!communicators_.idle(seat)) return;
  rank.time.exposed += static_cast<std::uint64_t>((now() - rank.since).count());
  rank.waits_for = Channel::kNone;
  go_on(number);
}

// Counts each operation once, at the first member of its group. Operations of equal size share one
// computed load.
std::uint64_t TrainingJob::bytes_planned() const {
  std::map<std::tuple<std::uint32_t, CollectiveKind, std::uint64_t>, std::uint64_t> known;
  std::uint64_t bytes = 0;
  for (const Rank& rank : ranks_) {
    for (const Instruction& instruction : programs_[rank.stage]) {
      if (instruction.kind != Instruction::Kind::kStart) continue;
      const SeatId seat = rank.seats[static_cast<std::size_t>(instruction.channel)];
      if (seat == kNoSeat) continue;
      const auto [group, member] = communicators_.place_of(seat);
      if (member != 0) continue;
      const auto [found, is_new] =
          known.try_emplace({group.value(), instruction.collective, instruction.value});
      if (is_new) {
        found->second = bytes_of(operation_of(instruction), communicators_.layout(group));
      }
      bytes += found->second;
    }
  }
  return bytes * work_.steps;
}

JobResult TrainingJob::result() const {
  const ParallelismSpec& by = work_.parallelism;
  JobResult result = blank_result();
  result.work = "training of " + count_in_words(work_.model.parameters) + " parameters, data " +
                std::to_string(by.data) + " x tensor " + std::to_string(by.tensor) +
                " x pipeline " + std::to_string(by.pipeline) +
                (by.expert > 1 ? " (experts over " + std::to_string(by.expert) + ")" : "");
  result.done = done();
  result.steps = laps_.durations(began());
  result.bound = bound_;
  result.bound_is = "computing alone: " + std::to_string(work_.micro_batches) +
                    " micro batches and the bubble of " + std::to_string(by.pipeline) +
                    (by.pipeline == 1 ? " stage" : " stages") + ", with no communication";
  result.bytes_moved = communicators_.bytes_moved();
  for (const Rank& rank : ranks_) {
    result.ranks.push_back(rank.time);
    if (rank.waits_for != Channel::kNone) {
      result.ranks.back().exposed += static_cast<std::uint64_t>((now() - rank.since).count());
    }
  }
  if (done()) {
    result.end = laps_.end();
  } else if (begun()) {
    const std::uint32_t lap = laps_.complete();
    result.trouble = "step " + std::to_string(lap + 1) + " of " + std::to_string(laps_.laps()) +
                     ": " + std::to_string(laps_.in_lap_ended(lap)) + " of " +
                     std::to_string(laps_.runners()) + " ranks are through";
  }
  return result;
}

}  // namespace nerve::sim
