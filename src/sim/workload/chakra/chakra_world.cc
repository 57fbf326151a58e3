#include "sim/workload/chakra/chakra_world.h"

#include <algorithm>
#include <cmath>

#include "sim/workload/words.h"

namespace nerve::sim {
namespace {

constexpr std::uint64_t kMostSteps = 20'000'000;  // of all ranks
constexpr std::uint64_t kMostGathered = std::uint64_t{1} << 50;
constexpr std::size_t kMostWorldGroups = 1'000'000;
constexpr std::uint32_t kNoLane = 0xffff'ffff;
// Of a rank. A straggler takes up to a thousand times as long, which must fit in a Duration.
constexpr Duration kLongestTrace = std::chrono::hours{1};

bool communicates(ChakraType type) {
  return type == ChakraType::kSend || type == ChakraType::kReceive ||
         type == ChakraType::kCollective;
}

std::string words_for(const ChakraOperation& operation, bool pair) {
  return (pair ? "a message" : std::string{words_of(operation.kind)}) + " of " +
         std::to_string(operation.bytes) + " bytes";
}

}  // namespace

std::uint32_t ChakraGroup::member_of(std::uint32_t rank) const {
  if (pair) return ranks[0] == rank ? 0 : 1;
  return static_cast<std::uint32_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
}

std::string words_of(const ChakraGroup& group) {
  if (group.pair) {
    return "messages from rank " + std::to_string(group.ranks[0]) + " to " +
           std::to_string(group.ranks[1]) + " with tag " + std::to_string(group.tag);
  }
  return group.everyone() ? "all ranks" : "group " + group.pg_name;
}

std::uint32_t ChakraWorld::find_group(const ChakraTrace& trace, const ChakraNode& node) {
  const auto rank = static_cast<std::uint32_t>(all_.size());
  ChakraGroup group;
  group.first_reader = rank;
  GroupKey key{};
  if (node.type == ChakraType::kCollective) {
    group.pg_name = trace.groups[node.group];
    std::get<0>(key) = group.pg_name;
  } else {
    const bool sends = node.type == ChakraType::kSend;
    group.pair = true;
    group.tag = node.tag;
    group.ranks = {sends ? rank : node.peer, sends ? node.peer : rank};
    // No name has a zero byte.
    key = {std::string(1, '\0'), group.ranks[0], group.ranks[1], node.tag};
  }
  const auto [found, is_new] =
      group_of_.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.push_back(std::move(group));
  return found->second;
}

Duration ChakraWorld::time_of(const ChakraNode& node) const {
  if (node.duration_us > 0) return std::chrono::microseconds{node.duration_us};
  // 10^12 per second is one per picosecond.
  const double time = static_cast<double>(node.operations) / tflops_;
  return std::min(Duration{std::llround(std::min(time, 1e16))}, kLongestTrace * 2);
}

void ChakraWorld::link_children(const ChakraTrace& trace, ChakraRank& rank) const {
  std::vector<std::uint32_t> ends(rank.steps.size() + 1);
  for (const std::uint32_t parent : trace.dependencies) ++ends[parent + 1];
  for (std::size_t i = 0; i < rank.steps.size(); ++i) {
    rank.steps[i].first_child = ends[i];
    ends[i + 1] += ends[i];
  }
  rank.children.resize(trace.dependencies.size());
  for (std::uint32_t i = 0; i < rank.steps.size(); ++i) {
    const std::uint32_t end = trace.end_of_dependencies(i);
    for (std::uint32_t at = trace.nodes[i].first_dependency; at < end; ++at) {
      rank.children[ends[trace.dependencies[at]]++] = i;
      ++rank.steps[i].waits_for;
    }
  }
}

// The longest chain of dependencies, or what one processor computes, whichever is more.
void ChakraWorld::find_compute(const ChakraTrace& trace, ChakraRank& rank) const {
  std::vector<Duration> ends(rank.steps.size());
  Duration gpu{};
  Duration cpu{};
  for (std::size_t i = 0; i < rank.steps.size(); ++i) {
    const std::uint32_t end = trace.end_of_dependencies(i);
    for (std::uint32_t at = trace.nodes[i].first_dependency; at < end; ++at) {
      ends[i] = std::max(ends[i], ends[trace.dependencies[at]]);
    }
    const Duration time = std::min(rank.steps[i].time, kLongestTrace * 2);
    ends[i] = std::min(ends[i] + time, kLongestTrace * 2);
    if (rank.steps[i].type == ChakraType::kGpu) gpu = std::min(gpu + time, kLongestTrace * 2);
    if (rank.steps[i].type == ChakraType::kCpu) cpu = std::min(cpu + time, kLongestTrace * 2);
    rank.compute = std::max({rank.compute, ends[i], gpu, cpu});
  }
}

std::string ChakraWorld::add(const ChakraTrace& trace, const std::string& file) {
  steps_ += trace.nodes.size();
  if (steps_ > kMostSteps) {
    return file + ": the traces have more than " + std::to_string(kMostSteps) + " nodes together";
  }
  ChakraRank rank;
  rank.steps.reserve(trace.nodes.size());
  std::map<std::uint32_t, std::uint32_t> lane_of;  // by group
  for (const ChakraNode& node : trace.nodes) {
    ChakraStep step{.type = node.type, .lane = kNoLane, .time = time_of(node)};
    if (communicates(node.type)) {
      const std::uint32_t group = find_group(trace, node);
      const auto [lane, is_new] =
          lane_of.try_emplace(group, static_cast<std::uint32_t>(rank.lanes.size()));
      if (is_new) rank.lanes.push_back({group, {}});
      rank.lanes[lane->second].steps.push_back(static_cast<std::uint32_t>(rank.steps.size()));
      step.lane = lane->second;
    }
    rank.steps.push_back(step);
  }
  if (groups_.size() > kMostWorldGroups) {
    return file + ": the traces have more than 1000000 groups, tags included";
  }
  link_children(trace, rank);
  find_compute(trace, rank);
  if (rank.compute > kLongestTrace) return file + ": it computes for more than an hour";
  std::string why = join(trace, file, rank);
  all_.push_back(std::move(rank));
  return why;
}

std::string ChakraWorld::differs(const ChakraGroup& group, std::size_t at,
                                 const ChakraOperation& found) const {
  const std::string number = std::to_string(at + 1);
  if (at >= group.operations.size()) {
    return words_for(found, group.pair) + " is number " + number + " of " + words_of(group) +
           ", but the trace of rank " + std::to_string(group.first_reader) + " has only " +
           std::to_string(group.operations.size());
  }
  return words_for(found, group.pair) + " is number " + number + " of " + words_of(group) +
         ", but the trace of rank " + std::to_string(group.first_reader) + " has " +
         words_for(group.operations[at], group.pair) + " there";
}

// The first member of a group decides about its operations; the others must have the same.
std::string ChakraWorld::join(const ChakraTrace& trace, const std::string& file,
                              const ChakraRank& rank) {
  const auto number = static_cast<std::uint32_t>(all_.size());
  for (const ChakraLane& lane : rank.lanes) {
    ChakraGroup& group = groups_[lane.group];
    const bool first = group.first_reader == number;
    for (std::size_t i = 0; i < lane.steps.size(); ++i) {
      const ChakraNode& node = trace.nodes[lane.steps[i]];
      const ChakraOperation operation{group.pair ? CollectiveKind::kBroadcast : node.collective,
                                      node.bytes};
      if (first) {
        group.operations.push_back(operation);
      } else if (i >= group.operations.size() || group.operations[i] != operation) {
        return file + ": byte " + std::to_string(node.offset) + ": node " +
               std::to_string(node.id) + ": " + differs(group, i, operation);
      }
    }
    if (lane.steps.size() < group.operations.size()) {
      return file + ": " + std::to_string(lane.steps.size()) + " operations of " + words_of(group) +
             ", but the trace of rank " + std::to_string(group.first_reader) + " has " +
             std::to_string(group.operations.size());
    }
    if (!group.pair) group.ranks.push_back(number);
  }
  return {};
}

std::string ChakraWorld::objection() const {
  std::vector<std::uint32_t> joined(groups_.size());
  for (const ChakraRank& rank : all_) {
    for (const ChakraLane& lane : rank.lanes) ++joined[lane.group];
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const ChakraGroup& group = groups_[i];
    const std::uint32_t reader = group.first_reader;
    if (group.pair && joined[i] < 2) {
      const std::uint32_t other = group.ranks[group.ranks[0] == reader ? 1 : 0];
      return "rank " + std::to_string(reader) + " has " + words_of(group) +
             ", but the trace of rank " + std::to_string(other) + " has none of them";
    }
    if (group.everyone() && joined[i] < ranks_) {
      return std::to_string(ranks_ - joined[i]) + " of " + std::to_string(ranks_) +
             " traces have no collective of all ranks, but that of rank " + std::to_string(reader) +
             " has " + std::to_string(group.operations.size()) +
             "; collectives of fewer ranks need a pg_name";
    }
  }
  return objection_to_sizes();
}

// The result of an all-gather has what all ranks contribute.
std::string ChakraWorld::objection_to_sizes() const {
  for (const ChakraGroup& group : groups_) {
    for (const ChakraOperation& one : group.operations) {
      if (one.kind != CollectiveKind::kAllGather) continue;
      if (one.bytes <= kMostGathered / group.ranks.size()) continue;
      return words_of(group) + ": an all-gather of " + std::to_string(one.bytes) +
             " bytes from each of " + std::to_string(group.ranks.size()) +
             " ranks is more than 1024 TiB";
    }
  }
  return {};
}

}  // namespace nerve::sim
