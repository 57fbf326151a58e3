#include "sim/workload/training/program_runner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace nerve::sim {
namespace {

Duration slowed(Duration time, double slowdown) {
  return Duration{std::llround(static_cast<double>(time.count()) * slowdown)};
}

bool of_gradients(Channel channel) {
  return channel == Channel::kData || channel == Channel::kExpertData;
}

}  // namespace

ProgramRunner::ProgramRunner(const JobContext& context, bool on_front_end, RankPrograms plan,
                             const std::vector<Straggler>& stragglers)
    : context_{context},
      plan_{std::move(plan)},
      communicators_{context, *this, on_front_end},
      ranks_(context.ranks()),
      laps_{plan_.steps, context.ranks()} {
  const std::uint32_t of_stage = plan_.parallelism.data * plan_.parallelism.tensor;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank].stage = rank / of_stage;
    ranks_[rank].seats.fill(kNoSeat);
  }
  for (const Straggler& straggler : stragglers) {
    ranks_[straggler.rank].slowdown = straggler.slowdown;
  }
  join_groups();
}

std::uint32_t ProgramRunner::rank_at(std::uint32_t stage, std::uint32_t data,
                                     std::uint32_t tensor) const {
  return (stage * plan_.parallelism.data + data) * plan_.parallelism.tensor + tensor;
}

void ProgramRunner::join_groups() {
  const ParallelismSpec& by = plan_.parallelism;
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
      join_experts(stage, t);
    }
  }
  for (std::uint32_t d = 0; d < by.data; ++d) {
    for (std::uint32_t t = 0; t < by.tensor; ++t) join_stages(d, t);
  }
}

void ProgramRunner::join_experts(std::uint32_t stage, std::uint32_t tensor) {
  const ParallelismSpec& by = plan_.parallelism;
  std::vector<std::uint32_t> group;
  for (std::uint32_t first = 0; first < by.data; first += by.expert) {
    group.clear();
    for (std::uint32_t i = 0; i < by.expert; ++i) {
      group.push_back(rank_at(stage, first + i, tensor));
    }
    join(Channel::kExpert, group);
  }
  if (!plan_.same_experts) return;
  for (std::uint32_t i = 0; i < by.expert; ++i) {
    group.clear();
    for (std::uint32_t d = i; d < by.data; d += by.expert) {
      group.push_back(rank_at(stage, d, tensor));
    }
    join(Channel::kExpertData, group);
  }
}

void ProgramRunner::join(Channel channel, const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() < 2) return;
  const GroupId group = communicators_.add(ranks);
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    ranks_[ranks[i]].seats[static_cast<std::size_t>(channel)] = communicators_.seat(group, i);
  }
  if (of_gradients(channel)) gradient_groups_.push_back(group);
}

void ProgramRunner::join_stages(std::uint32_t data, std::uint32_t tensor) {
  for (std::uint32_t stage = 0; stage + 1 < plan_.parallelism.pipeline; ++stage) {
    const std::uint32_t here = rank_at(stage, data, tensor);
    const std::uint32_t after = rank_at(stage + 1, data, tensor);
    link(here, Channel::kActivationsOut, after, Channel::kActivationsIn);
    link(after, Channel::kGradientsOut, here, Channel::kGradientsIn);
  }
}

// A point-to-point message is a broadcast in a group of two.
void ProgramRunner::link(std::uint32_t from, Channel out, std::uint32_t to, Channel in) {
  const GroupId group = communicators_.add({from, to});
  ranks_[from].seats[static_cast<std::size_t>(out)] = communicators_.seat(group, 0);
  ranks_[to].seats[static_cast<std::size_t>(in)] = communicators_.seat(group, 1);
}

Operation ProgramRunner::operation_of(const Instruction& instruction) const {
  Operation operation{.kind = instruction.collective,
                      .algorithm = CollectiveAlgorithm::kAuto,
                      .bytes = instruction.value,
                      .chunks = 0};
  switch (instruction.channel) {
    case Channel::kData:
    case Channel::kExpertData:
      if (instruction.collective != CollectiveKind::kAllToAll &&
          instruction.collective != CollectiveKind::kBroadcast) {
        operation.algorithm = plan_.algorithm;
      }
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

std::optional<std::string> ProgramRunner::objection() const {
  std::set<CollectiveKind> kinds;
  for (const Program& program : plan_.programs) {
    for (const Instruction& one : program) {
      if (one.kind == Instruction::Kind::kStart && of_gradients(one.channel)) {
        kinds.insert(one.collective);
      }
    }
  }
  for (const GroupId group : gradient_groups_) {
    const GroupLayout& layout = communicators_.layout(group);
    for (const CollectiveKind kind : kinds) {
      Operation asked =
          operation_of({Instruction::Kind::kStart, Channel::kData, kind, /*value=*/1});
      asked.chunks = 1;
      if (auto why = sim::objection(resolve(asked, layout), layout)) return "gradients: " + *why;
    }
  }
  return std::nullopt;
}

// A stage runs all micro-batches. Before its first and after its last one, the earlier stages run
// one micro-batch alone.
Duration ProgramRunner::compute_time(const std::vector<Duration>& of_batch, std::uint32_t batches,
                                     Gpus gpus) const {
  const ParallelismSpec& by = plan_.parallelism;
  Duration longest{};
  for (std::uint32_t d = 0; d < by.data; ++d) {
    Duration before{};
    for (std::uint32_t stage = 0; stage < by.pipeline; ++stage) {
      double slowdown = 1;
      for (std::uint32_t t = 0; gpus == Gpus::kAsTheyAre && t < by.tensor; ++t) {
        slowdown = std::max(slowdown, ranks_[rank_at(stage, d, t)].slowdown);
      }
      const Duration batch = slowed(of_batch[stage], slowdown);
      longest = std::max(longest, before + batch * batches);
      before += batch;
    }
  }
  return longest;
}

void ProgramRunner::begin() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) go_on(rank);
}

// Runs until the rank must wait.
void ProgramRunner::go_on(std::uint32_t number) {
  Rank& rank = ranks_[number];
  const Program& program = plan_.programs[rank.stage];
  while (rank.step < plan_.steps) {
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
bool ProgramRunner::follow(std::uint32_t number, Rank& rank, const Instruction& instruction) {
  const SeatId seat = instruction.channel == Channel::kNone
                          ? kNoSeat
                          : rank.seats[static_cast<std::size_t>(instruction.channel)];
  switch (instruction.kind) {
    case Instruction::Kind::kCompute: {
      const Duration time =
          slowed(Duration{static_cast<std::int64_t>(instruction.value)}, rank.slowdown);
      rank.time.compute += static_cast<std::uint64_t>(time.count());
      context_.messenger.after(time, {context_.number, number, 0});
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

void ProgramRunner::finished(SeatId seat) {
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
std::uint64_t ProgramRunner::bytes_planned() const {
  using Kind = std::tuple<Channel, CollectiveKind, std::uint64_t>;
  std::vector<std::map<Kind, std::uint64_t>> counts;  // per program
  for (const Program& program : plan_.programs) {
    auto& count = counts.emplace_back();
    for (const Instruction& one : program) {
      if (one.kind == Instruction::Kind::kStart) ++count[{one.channel, one.collective, one.value}];
    }
  }
  std::uint64_t bytes = 0;
  for (const Rank& rank : ranks_) {
    for (const auto& [what, count] : counts[rank.stage]) {
      const auto [channel, collective, value] = what;
      const SeatId seat = rank.seats[static_cast<std::size_t>(channel)];
      if (seat == kNoSeat) continue;
      const auto [group, member] = communicators_.place_of(seat);
      if (member != 0) continue;
      const Operation operation =
          operation_of({Instruction::Kind::kStart, channel, collective, value});
      bytes += count * bytes_of(operation, communicators_.layout(group));
    }
  }
  return bytes * plan_.steps;
}

void ProgramRunner::report(Time began, bool begun, JobResult& result) const {
  result.done = done();
  result.steps = laps_.durations(began);
  result.bytes_moved = communicators_.bytes_moved();
  for (const Rank& rank : ranks_) {
    result.ranks.push_back(rank.time);
    if (rank.waits_for != Channel::kNone) {
      result.ranks.back().exposed += static_cast<std::uint64_t>((now() - rank.since).count());
    }
  }
  if (done()) {
    result.end = laps_.end();
  } else if (begun) {
    const std::uint32_t lap = laps_.complete();
    result.trouble = "step " + std::to_string(lap + 1) + " of " + std::to_string(laps_.laps()) +
                     ": " + std::to_string(laps_.in_lap_ended(lap)) + " of " +
                     std::to_string(laps_.runners()) + " ranks are through";
  }
}

}  // namespace nerve::sim
