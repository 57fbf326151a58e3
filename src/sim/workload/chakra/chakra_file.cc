#include "sim/workload/chakra/chakra_file.h"

#include <algorithm>
#include <map>
#include <queue>

#include "sim/workload/chakra/chakra_node.h"
#include "sim/workload/whole_file.h"

namespace nerve::sim {
namespace {

constexpr std::size_t kLargestTrace = 256'000'000;
constexpr std::size_t kMostNodes = 2'000'000;
constexpr std::size_t kMostEdges = 20'000'000;
constexpr std::size_t kMostGroups = 65'536;
constexpr std::uint64_t kMostChakraBytes = std::uint64_t{1} << 50;
constexpr std::uint64_t kLongestNode = 1'000'000'000;  // us
constexpr std::uint64_t kMostOperations = 1'000'000'000'000'000'000;

// NodeType and CollectiveCommType of et_def.proto.
enum RawType : std::uint8_t {
  kInvalidNode,
  kMetadataNode,
  kMemLoadNode,
  kMemStoreNode,
  kCompNode,
  kSendNode,
  kReceiveNode,
  kCollectiveNode,
};
constexpr std::string_view kCollectiveNames[] = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};
constexpr std::uint64_t kBarrier = 9;
constexpr std::uint64_t kBarrierBytes = 4;  // an all-reduce of one value

std::optional<CollectiveKind> collective_of(std::uint64_t comm_type) {
  switch (comm_type) {
    case 0:
    case kBarrier:
      return CollectiveKind::kAllReduce;
    case 2:
      return CollectiveKind::kAllGather;
    case 5:
      return CollectiveKind::kBroadcast;
    case 6:
      return CollectiveKind::kAllToAll;
    case 7:
    case 8:
      return CollectiveKind::kReduceScatter;
    default:
      return std::nullopt;
  }
}

class ChakraReader {
 public:
  ChakraReader(std::string_view bytes, const std::string& file, std::uint32_t rank,
               std::uint32_t ranks)
      : bytes_{bytes}, file_{file}, rank_{rank}, ranks_{ranks} {}

  Result<ChakraTrace, std::string> read() {
    if (!read_messages() || !find_dependencies() || !put_in_order()) return Unexpected{error_};
    return std::move(trace_);
  }

 private:
  bool fail(std::size_t offset, const std::string& why) {
    error_ = file_ + ": byte " + std::to_string(offset) + ": " + why;
    return false;
  }
  bool fail(const std::optional<ChakraDamage>& damage) { return fail(damage->offset, damage->why); }
  bool refuse(const ChakraNode& node, const std::string& why) {
    return fail(static_cast<std::size_t>(node.offset),
                "node " + std::to_string(node.id) + ": " + why);
  }

  bool read_messages() {
    if (bytes_.empty()) return fail(0, "the file is empty");
    if (bytes_.starts_with("\x1f\x8b")) return fail(0, "the file is compressed; use gunzip");
    ProtoReader reader{bytes_};
    std::string_view message;
    if (!reader.read_bytes(message)) return fail(reader.offset(), reader.error());
    if (const auto damage = read_chakra_metadata(message, reader.offset() - message.size())) {
      return fail(damage);
    }
    while (!reader.at_end()) {
      if (!reader.read_bytes(message)) return fail(reader.offset(), reader.error());
      const std::size_t offset = reader.offset() - message.size();
      if (trace_.nodes.size() == kMostNodes) return fail(offset, "more than 2000000 nodes");
      RawChakraNode raw;
      if (const auto damage = read_chakra_node(message, offset, raw)) return fail(damage);
      if (!add(raw, offset)) return false;
    }
    if (trace_.nodes.empty()) return fail(bytes_.size(), "the trace has no nodes");
    return true;
  }

  bool add(const RawChakraNode& raw, std::size_t offset) {
    ChakraNode node;
    node.id = raw.id;
    node.offset = offset;
    node.first_dependency = static_cast<std::uint32_t>(ids_.size());
    if (ids_.size() + raw.dependencies.size() > kMostEdges) {
      return refuse(node, "more than 20000000 dependencies in the file");
    }
    ids_.insert(ids_.end(), raw.dependencies.begin(), raw.dependencies.end());
    if (!take(raw, node)) return false;
    trace_.nodes.push_back(node);
    return true;
  }

  bool take(const RawChakraNode& raw, ChakraNode& node) {
    // On the CPU, a communication node is the call that starts another one on the GPU.
    const bool is_call = raw.on_cpu && raw.type >= kSendNode && raw.type <= kCollectiveNode;
    switch (is_call ? std::uint64_t{kCompNode} : raw.type) {
      case kInvalidNode:
      case kMetadataNode:
        return true;
      case kMemLoadNode:
      case kMemStoreNode:
        node.type = ChakraType::kMemory;
        if (raw.duration_us == 0) {
          return refuse(node, "a memory node without duration_micros; memory is not modelled");
        }
        return take_time(raw, node);
      case kCompNode:
        node.type = raw.on_cpu ? ChakraType::kCpu : ChakraType::kGpu;
        return take_time(raw, node);
      case kSendNode:
      case kReceiveNode:
        return take_message(raw, node);
      case kCollectiveNode:
        return take_collective(raw, node);
      default:
        return refuse(node, "type " + std::to_string(raw.type) +
                                " is not supported; expected one of 0 to 7, INVALID_NODE to "
                                "COMM_COLL_NODE");
    }
  }

  bool take_time(const RawChakraNode& raw, ChakraNode& node) {
    if (raw.duration_us > kLongestNode) {
      return refuse(node, "duration_micros is " + std::to_string(raw.duration_us) +
                              ", expected at most " + std::to_string(kLongestNode));
    }
    if (raw.num_ops > kMostOperations) {
      return refuse(node, "num_ops is " + std::to_string(raw.num_ops) + ", expected at most 1e18");
    }
    node.duration_us = raw.duration_us;
    node.operations = raw.duration_us == 0 ? raw.num_ops : 0;
    return true;
  }

  bool take_size(const RawChakraNode& raw, std::uint64_t least, ChakraNode& node) {
    if (!raw.comm_size) return refuse(node, "comm_size is missing");
    node.bytes = *raw.comm_size;
    if (node.bytes >= least && node.bytes <= kMostChakraBytes) return true;
    return refuse(node, "comm_size is " + std::to_string(node.bytes) + ", expected " +
                            std::to_string(least) + " to " + std::to_string(kMostChakraBytes));
  }

  bool take_message(const RawChakraNode& raw, ChakraNode& node) {
    const bool sends = raw.type == kSendNode;
    node.type = sends ? ChakraType::kSend : ChakraType::kReceive;
    const auto& peer = sends ? raw.comm_dst : raw.comm_src;
    const auto& self = sends ? raw.comm_src : raw.comm_dst;
    const char* const name = sends ? "comm_dst" : "comm_src";
    if (!peer) return refuse(node, std::string{name} + " is missing");
    if (*peer >= ranks_ || *peer == rank_) {
      return refuse(node, std::string{name} + " is " + std::to_string(*peer) +
                              ", expected another rank from 0 to " + std::to_string(ranks_ - 1));
    }
    if (self && *self != rank_) {
      return refuse(node, std::string{sends ? "comm_src" : "comm_dst"} + " is " +
                              std::to_string(*self) + ", but this is the trace of rank " +
                              std::to_string(rank_));
    }
    const std::uint64_t tag = raw.comm_tag.value_or(0);
    if (tag > 0xffff'ffff) return refuse(node, "comm_tag is more than 32 bits");
    node.peer = static_cast<std::uint32_t>(*peer);
    node.tag = static_cast<std::uint32_t>(tag);
    return take_size(raw, 1, node);
  }

  bool take_collective(const RawChakraNode& raw, ChakraNode& node) {
    node.type = ChakraType::kCollective;
    if (!raw.comm_type) return refuse(node, "comm_type is missing");
    const auto kind = collective_of(*raw.comm_type);
    if (!kind) {
      const bool known = *raw.comm_type < std::size(kCollectiveNames);
      return refuse(node, "comm_type " +
                              (known ? std::string{kCollectiveNames[*raw.comm_type]}
                                     : std::to_string(*raw.comm_type)) +
                              " is not supported; expected ALL_REDUCE, ALL_GATHER, BROADCAST, "
                              "ALL_TO_ALL, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK or BARRIER");
    }
    if (raw.comm_priority != 0) {
      return refuse(node, "comm_priority is " + std::to_string(raw.comm_priority) +
                              ", expected 0: collectives have no priorities");
    }
    if (raw.some_dimensions) {
      return refuse(node,
                    "involved_dim leaves out a dimension of ASTRA-sim's network; use pg_name");
    }
    node.collective = *kind;
    if (!find_group(raw.group, node)) return false;
    if (*raw.comm_type != kBarrier) return take_size(raw, 0, node);
    node.bytes = kBarrierBytes;
    return true;
  }

  bool find_group(const std::string& name, ChakraNode& node) {
    const auto [known, is_new] =
        group_of_.try_emplace(name, static_cast<std::uint32_t>(trace_.groups.size()));
    node.group = known->second;
    if (!is_new) return true;
    if (trace_.groups.size() == kMostGroups) return refuse(node, "more than 65536 groups");
    trace_.groups.push_back(name);
    return true;
  }

  // Sorts the nodes by id, and replaces the ids of dependencies by indices.
  bool find_dependencies() {
    std::vector<ChakraNode>& nodes = trace_.nodes;
    std::vector<std::uint32_t> ends;  // of the dependencies of each node, in the order of the file
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ends.push_back(i + 1 < nodes.size() ? nodes[i + 1].first_dependency
                                          : static_cast<std::uint32_t>(ids_.size()));
    }
    std::vector<std::uint32_t> order(nodes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return nodes[i].id; });
    std::vector<ChakraNode> sorted;
    sorted.reserve(nodes.size());
    for (const std::uint32_t i : order) sorted.push_back(nodes[i]);
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[i].id == sorted[i - 1].id) return refuse(sorted[i], "a second node with this id");
    }
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      ChakraNode& node = sorted[i];
      const std::uint32_t first = node.first_dependency;
      node.first_dependency = static_cast<std::uint32_t>(trace_.dependencies.size());
      for (std::uint32_t at = first; at < ends[order[i]]; ++at) {
        const auto found = std::ranges::lower_bound(sorted, ids_[at], {}, &ChakraNode::id);
        if (found == sorted.end() || found->id != ids_[at]) {
          return refuse(node, "it depends on node " + std::to_string(ids_[at]) +
                                  ", which is not in the file");
        }
        trace_.dependencies.push_back(static_cast<std::uint32_t>(found - sorted.begin()));
      }
    }
    nodes = std::move(sorted);
    return true;
  }

  // Of the nodes that can run, the one with the lowest id comes first.
  bool put_in_order() {
    const std::vector<ChakraNode>& nodes = trace_.nodes;
    const auto count = static_cast<std::uint32_t>(nodes.size());
    std::vector<std::uint32_t> waits(count);
    std::vector<std::uint32_t> first_child(count + 1);
    for (const std::uint32_t parent : trace_.dependencies) ++first_child[parent + 1];
    for (std::uint32_t i = 0; i < count; ++i) first_child[i + 1] += first_child[i];
    std::vector<std::uint32_t> children(trace_.dependencies.size());
    std::vector<std::uint32_t> filled = first_child;
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t at = nodes[i].first_dependency; at < trace_.end_of_dependencies(i); ++at) {
        children[filled[trace_.dependencies[at]]++] = i;
        ++waits[i];
      }
    }
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (waits[i] == 0) ready.push(i);
    }
    std::vector<std::uint32_t> order;
    order.reserve(count);
    while (!ready.empty()) {
      const std::uint32_t next = ready.top();
      ready.pop();
      order.push_back(next);
      for (std::uint32_t at = first_child[next]; at < first_child[next + 1]; ++at) {
        if (--waits[children[at]] == 0) ready.push(children[at]);
      }
    }
    if (order.size() < count) {
      const auto stuck = std::ranges::find_if(waits, [](std::uint32_t n) { return n > 0; });
      return refuse(nodes[static_cast<std::size_t>(stuck - waits.begin())],
                    "it depends on itself, directly or through other nodes");
    }
    rearrange(order);
    return true;
  }

  void rearrange(const std::vector<std::uint32_t>& order) {
    std::vector<std::uint32_t> place(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    ChakraTrace arranged;
    arranged.groups = std::move(trace_.groups);
    arranged.nodes.reserve(order.size());
    arranged.dependencies.reserve(trace_.dependencies.size());
    for (const std::uint32_t from : order) {
      ChakraNode node = trace_.nodes[from];
      const std::uint32_t first = node.first_dependency;
      node.first_dependency = static_cast<std::uint32_t>(arranged.dependencies.size());
      for (std::uint32_t at = first; at < trace_.end_of_dependencies(from); ++at) {
        arranged.dependencies.push_back(place[trace_.dependencies[at]]);
      }
      arranged.nodes.push_back(node);
    }
    trace_ = std::move(arranged);
  }

  std::string_view bytes_;
  const std::string& file_;
  std::uint32_t rank_;
  std::uint32_t ranks_;
  std::vector<std::uint64_t> ids_;  // of the dependencies of all nodes
  std::map<std::string, std::uint32_t> group_of_;
  ChakraTrace trace_;
  std::string error_;
};

}  // namespace

Result<ChakraTrace, std::string> parse_chakra(std::string_view bytes, const std::string& file,
                                              std::uint32_t rank, std::uint32_t ranks) {
  return ChakraReader{bytes, file, rank, ranks}.read();
}

Result<ChakraTrace, std::string> read_chakra(const std::string& file, std::uint32_t rank,
                                             std::uint32_t ranks) {
  const auto bytes = read_whole_file(file, kLargestTrace);
  if (!bytes) return Unexpected{bytes.error()};
  return parse_chakra(*bytes, file, rank, ranks);
}

}  // namespace nerve::sim
