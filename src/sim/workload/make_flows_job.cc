#include "sim/workload/flows_job.h"
#include "sim/workload/words.h"

namespace nerve::sim {
namespace {

constexpr std::uint64_t kMostFlows = 50'000'000;
constexpr double kLongestGap = 1e18;  // picoseconds: eleven days

bool by_chance(FlowPattern pattern) {
  return pattern == FlowPattern::kRandom || pattern == FlowPattern::kKvCache;
}

// Empty if there is no objection.
std::string objection_to_size(const FlowsSpec& work, std::uint32_t ranks) {
  if (work.bytes == 0 || work.bytes > kMostFlowBytes) {
    return "size is " + std::to_string(work.bytes) + ", expected 1 to " +
           std::to_string(kMostFlowBytes);
  }
  if (work.pattern != FlowPattern::kCheckpoint && ranks < 2) {
    return std::string{words_of(work.pattern)} + " needs at least 2 ranks, but the job has " +
           std::to_string(ranks);
  }
  return {};
}

std::string objection_to_rounds(const FlowsSpec& work, const JobContext& context) {
  const std::uint64_t ranks = context.ranks();
  if (work.repeat == 0) return "repeat is 0, expected at least 1";
  if (work.pattern == FlowPattern::kShift && work.shift % ranks == 0) {
    return "shift " + std::to_string(work.shift) + " of " + std::to_string(ranks) +
           " ranks makes each rank send to itself";
  }
  if (work.pattern == FlowPattern::kCheckpoint && context.storage.empty()) {
    return "a checkpoint needs storage servers, but the scenario has none";
  }
  const std::uint64_t each = work.pattern == FlowPattern::kAllToAll ? ranks - 1 : 1;
  if (ranks * each > kMostFlows / work.repeat) {
    return std::to_string(ranks * each) + " flows, repeated " + std::to_string(work.repeat) +
           " times, exceed the limit of " + std::to_string(kMostFlows);
  }
  return {};
}

std::string objection_to_arrivals(const FlowsSpec& work, const JobContext& context) {
  if (work.requests == 0 || work.requests > kMostFlows) {
    return "requests is " + std::to_string(work.requests) + ", expected 1 to " +
           std::to_string(kMostFlows);
  }
  if (!(work.load > 0 && work.load <= 100)) {
    return "load is " + number_in_words(work.load) + ", expected more than 0 and at most 100";
  }
  if (!(mean_gap(work, Lines{context}.rate_of_rank(), 1) < kLongestGap)) {
    return "load " + number_in_words(work.load) + " of " + bytes_in_words(work.bytes) +
           " each leaves more than eleven days between requests";
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Job>, std::string> make_flows_job(const JobSpec& spec, const FlowsSpec& work,
                                                         JobContext context) {
  const std::string job = "job " + spec.name + ": ";
  std::vector<ListedFlow> listed;
  std::string why;
  if (work.pattern == FlowPattern::kList) {
    auto flows = read_flow_list(work.file, context.ranks());
    if (!flows) return Unexpected{job + flows.error()};
    listed = *std::move(flows);
  } else {
    why = objection_to_size(work, context.ranks());
    if (why.empty()) {
      why = by_chance(work.pattern) ? objection_to_arrivals(work, context)
                                    : objection_to_rounds(work, context);
    }
  }
  if (!why.empty()) return Unexpected{job + why};
  if (work.pattern == FlowPattern::kList || by_chance(work.pattern)) {
    return std::unique_ptr<Job>{
        std::make_unique<ArrivalsJob>(spec, work, std::move(context), std::move(listed))};
  }
  return std::unique_ptr<Job>{std::make_unique<RoundsJob>(spec, work, std::move(context))};
}

}  // namespace nerve::sim
