#include "sim/workload/chakra/chakra_job.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"

namespace nerve::sim {
namespace {

std::string trace_of(const std::string& prefix, std::uint32_t rank) {
  return prefix + "." + std::to_string(rank) + ".et";
}

Duration stretched(Duration time, double slowdown) {
  return Duration{std::llround(static_cast<double>(time.count()) * slowdown)};
}

Result<ChakraWorld, std::string> read_world(const ChakraSpec& work, std::uint32_t ranks) {
  ChakraWorld world{ranks, work.tflops};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::string file = trace_of(work.file, rank);
    const auto trace = read_chakra(file, rank, ranks);
    if (!trace) return Unexpected{trace.error()};
    if (std::string why = world.add(*trace, file); !why.empty()) return Unexpected{why};
  }
  if (std::string why = world.objection(); !why.empty()) {
    return Unexpected{work.file + ".*.et: " + why};
  }
  std::error_code ignored;
  if (std::filesystem::exists(trace_of(work.file, ranks), ignored)) {
    return Unexpected{"there is a trace of rank " + std::to_string(ranks) + ", " +
                      trace_of(work.file, ranks) + ", but the job has " + std::to_string(ranks) +
                      " ranks"};
  }
  return world;
}

}  // namespace

Result<std::unique_ptr<Job>, std::string> ChakraJob::make(const JobSpec& spec,
                                                          const ChakraSpec& work,
                                                          JobContext context) {
  const std::string name = "job " + spec.name + ": ";
  if (!(work.tflops > 0 && work.tflops <= 1e9)) {
    return Unexpected{name + "tflops must be more than 0 and at most 1e9"};
  }
  auto world = read_world(work, context.ranks());
  if (!world) return Unexpected{name + world.error()};
  std::unique_ptr<ChakraJob> job{new ChakraJob{spec, work, std::move(context), *std::move(world)}};
  if (auto why = job->objection_to_groups()) return Unexpected{name + *why};
  return std::unique_ptr<Job>{std::move(job)};
}

ChakraJob::ChakraJob(const JobSpec& spec, const ChakraSpec& work, JobContext context,
                     ChakraWorld world)
    : TimedJob{spec, std::move(context)},
      algorithm_{work.algorithm},
      communicators_{this->context(), *this, on_front_end()},
      groups_{world.groups()},
      ranks_(this->context().ranks()) {
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].trace = std::move(world.ranks()[i]);
    ranks_[i].left = static_cast<std::uint32_t>(ranks_[i].trace.steps.size());
    steps_ += ranks_[i].left;
  }
  for (const Straggler& straggler : spec.stragglers) {
    ranks_[straggler.rank].slowdown = straggler.slowdown;
  }
  for (const Rank& rank : ranks_) {
    bound_ = std::max(bound_, stretched(rank.trace.compute, rank.slowdown));
    floor_ = std::max(floor_, rank.trace.compute);
  }
  add_groups();
  add_lanes();
}

void ChakraJob::add_groups() {
  for (const ChakraGroup& group : groups_) {
    GroupId id{};
    if (group.ranks.size() > 1) {
      id = communicators_.add(group.ranks);
      uses_.resize(uses_.size() + group.ranks.size());
    }
    group_ids_.push_back(id);
  }
}

void ChakraJob::add_lanes() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    for (const ChakraLane& one : ranks_[rank].trace.lanes) {
      Lane lane;
      if (groups_[one.group].ranks.size() > 1) {
        lane.seat = communicators_.seat(group_ids_[one.group], groups_[one.group].member_of(rank));
        uses_[lane.seat.value()] = {rank, static_cast<std::uint32_t>(ranks_[rank].lanes.size())};
      }
      ranks_[rank].lanes.push_back(lane);
    }
  }
}

// A message is a broadcast in a group of two. The bytes of an all-gather are those that a rank
// contributes; those of our operation, the result.
Operation ChakraJob::operation_of(const ChakraGroup& group, const ChakraOperation& one) const {
  if (group.pair) return {one.kind, CollectiveAlgorithm::kRing, one.bytes, 1};
  Operation operation{one.kind, CollectiveAlgorithm::kAuto, one.bytes, 0};
  if (one.kind == CollectiveKind::kAllGather) operation.bytes *= group.ranks.size();
  if (one.kind != CollectiveKind::kAllToAll && one.kind != CollectiveKind::kBroadcast) {
    operation.algorithm = algorithm_;
  }
  return operation;
}

std::optional<std::string> ChakraJob::objection_to_groups() const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const ChakraGroup& group = groups_[i];
    if (group.pair || group.ranks.size() < 2) continue;
    std::set<CollectiveKind> kinds;
    for (const ChakraOperation& one : group.operations) kinds.insert(one.kind);
    const GroupLayout& layout = communicators_.layout(group_ids_[i]);
    for (const CollectiveKind kind : kinds) {
      const Operation asked = resolve(operation_of(group, {kind, 1}), layout);
      if (auto why = sim::objection(asked, layout)) return words_of(group) + ": " + *why;
    }
  }
  return std::nullopt;
}

void ChakraJob::begin() {
  for (std::uint32_t number = 0; number < ranks_.size(); ++number) {
    Rank& rank = ranks_[number];
    rank.draining = true;
    for (std::uint32_t step = 0; step < rank.trace.steps.size(); ++step) {
      if (rank.trace.steps[step].waits_for == 0) is_ready(number, step);
    }
    rank.draining = false;
    drain(number);
  }
}

void ChakraJob::is_ready(std::uint32_t number, std::uint32_t at) {
  Rank& rank = ranks_[number];
  const ChakraStep& step = rank.trace.steps[at];
  switch (step.type) {
    case ChakraType::kNothing:
      return is_over(number, at);
    case ChakraType::kMemory:
      return context().messenger.after(step.time, {context().number, number, at});
    case ChakraType::kGpu:
    case ChakraType::kCpu: {
      Processor& processor = step.type == ChakraType::kGpu ? rank.gpu : rank.cpu;
      processor.ready.push(at);  // drain() starts it
      return;
    }
    case ChakraType::kSend:
    case ChakraType::kReceive:
    case ChakraType::kCollective:
      return start_lane(number, step.lane);
  }
}

void ChakraJob::compute_next(std::uint32_t number, Processor& processor) {
  Rank& rank = ranks_[number];
  if (processor.busy || processor.ready.empty()) return;
  const std::uint32_t at = processor.ready.top();
  processor.ready.pop();
  if (!rank.gpu.busy && !rank.cpu.busy) rank.busy_since = now();
  processor.busy = true;
  context().messenger.after(stretched(rank.trace.steps[at].time, rank.slowdown),
                            {context().number, number, at});
}

// Starts the operations of a lane that are ready, in their order.
void ChakraJob::start_lane(std::uint32_t number, std::uint32_t at) {
  Rank& rank = ranks_[number];
  const ChakraLane& steps = rank.trace.lanes[at];
  const ChakraGroup& group = groups_[steps.group];
  while (rank.lanes[at].started < steps.steps.size()) {
    Lane& lane = rank.lanes[at];
    const std::uint32_t step = steps.steps[lane.started];
    if (rank.trace.steps[step].waits_for != 0) return;
    const ChakraOperation& operation = group.operations[lane.started++];
    if (lane.seat == kNoSeat || operation.bytes == 0) {
      // Nothing to send: it is done when those before it are.
      if (lane.finished + 1 == lane.started) {
        ++lane.finished;
        is_over(number, step);
      }
      continue;
    }
    communicators_.start(lane.seat, operation_of(group, operation));
  }
}

void ChakraJob::on_timer(const Token& token) {
  Rank& rank = ranks_[token.subject];
  const ChakraType type = rank.trace.steps[token.argument].type;
  if (type != ChakraType::kMemory) {
    Processor& processor = type == ChakraType::kGpu ? rank.gpu : rank.cpu;
    processor.busy = false;
    if (!rank.gpu.busy && !rank.cpu.busy) rank.compute += now() - rank.busy_since;
  }
  is_over(token.subject, token.argument);
}

// A seat finishes its operations in the order in which they started.
void ChakraJob::finished(SeatId seat) {
  const auto [number, at] = uses_[seat.value()];
  Rank& rank = ranks_[number];
  Lane& lane = rank.lanes[at];
  const ChakraLane& steps = rank.trace.lanes[at];
  const ChakraGroup& group = groups_[steps.group];
  is_over(number, steps.steps[lane.finished++]);
  while (lane.finished < lane.started && group.operations[lane.finished].bytes == 0) {
    is_over(number, steps.steps[lane.finished++]);
  }
}

void ChakraJob::is_over(std::uint32_t number, std::uint32_t step) {
  ranks_[number].over.push_back(step);
  drain(number);
}

// Tells the children of the steps that are over, one after the other instead of recursively: a
// trace may be a chain of millions of nodes that are done at once. Then the processors choose among
// all nodes that are ready.
void ChakraJob::drain(std::uint32_t number) {
  Rank& rank = ranks_[number];
  if (rank.draining) return;
  rank.draining = true;
  const std::vector<ChakraStep>& steps = rank.trace.steps;
  while (!rank.over.empty()) {
    const std::uint32_t step = rank.over.back();
    rank.over.pop_back();
    CHECK(rank.left > 0);
    if (--rank.left == 0) {
      rank.ended = now();
      end_ = now();
      ++ranks_done_;
    }
    const auto end = step + 1 < steps.size()
                         ? steps[step + 1].first_child
                         : static_cast<std::uint32_t>(rank.trace.children.size());
    for (std::uint32_t i = steps[step].first_child; i < end; ++i) {
      const std::uint32_t child = rank.trace.children[i];
      if (--rank.trace.steps[child].waits_for == 0) is_ready(number, child);
    }
  }
  rank.draining = false;
  compute_next(number, rank.gpu);
  compute_next(number, rank.cpu);
}

std::uint64_t ChakraJob::bytes_planned() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const ChakraGroup& group = groups_[i];
    if (group.ranks.size() < 2) continue;
    std::map<std::pair<CollectiveKind, std::uint64_t>, std::uint64_t> known;
    for (const ChakraOperation& one : group.operations) {
      if (one.bytes == 0) continue;
      const auto [found, is_new] = known.try_emplace({one.kind, one.bytes});
      if (is_new) {
        found->second = bytes_of(operation_of(group, one), communicators_.layout(group_ids_[i]));
      }
      bytes += found->second;
    }
  }
  return bytes;
}

JobResult ChakraJob::result() const {
  JobResult result = blank_result();
  result.work = "Chakra traces of " + std::to_string(ranks_.size()) + " ranks, " +
                std::to_string(steps_) + " nodes";
  result.done = done();
  result.bound = bound_;
  result.floor = floor_;
  result.bound_is = "computing alone: the longest chain of nodes, or all nodes of one processor";
  result.bytes_moved = communicators_.bytes_moved();
  for (const Rank& rank : ranks_) {
    const bool computes = rank.gpu.busy || rank.cpu.busy;
    const Duration compute = rank.compute + (computes ? now() - rank.busy_since : Duration{});
    const Time until = rank.left == 0 ? rank.ended : now();
    const Duration all = begun() ? until - began() : Duration{};
    result.ranks.push_back(
        {static_cast<std::uint64_t>(compute.count()),
         static_cast<std::uint64_t>(std::max(all - compute, Duration{}).count())});
  }
  if (done()) {
    result.end = end_;
    result.steps.push_back(end_ - began());
  } else if (begun()) {
    std::uint64_t left = 0;
    for (const Rank& rank : ranks_) left += rank.left;
    result.trouble = std::to_string(ranks_done_) + " of " + std::to_string(ranks_.size()) +
                     " ranks are through; " + std::to_string(left) + " of " +
                     std::to_string(steps_) + " nodes are not done";
  }
  return result;
}

}  // namespace nerve::sim
