// Execution traces of Chakra: what one rank computes and sends, as a graph of nodes.
//
// A file is a sequence of protobuf messages, each after its length: a GlobalMetadata, then Nodes
// (et_def.proto of Chakra). A Node has an id, a type, the ids of the nodes that it depends on, a
// duration, and attributes such as comm_size. docs/workload-files.md lists those that have an
// effect, and what is refused.
//
// The file is untrusted. Errors have the form FILE: byte OFFSET.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenario/job_spec.h"

namespace nerve::sim {

enum class ChakraType : std::uint8_t {
  kNothing,  // metadata: done at once
  kGpu,      // computes
  kCpu,
  kMemory,  // loads or stores; occupies nothing
  kSend,
  kReceive,
  kCollective,
};

struct ChakraNode {
  std::uint64_t id{};
  ChakraType type{};
  CollectiveKind collective{};       // kCollective
  std::uint32_t group{};             // kCollective: index in ChakraTrace::groups
  std::uint32_t peer{};              // kSend, kReceive: the other rank
  std::uint32_t tag{};               // kSend, kReceive
  std::uint64_t duration_us{};       // kGpu, kCpu, kMemory
  std::uint64_t operations{};        // kGpu, kCpu: if it has no duration
  std::uint64_t bytes{};             // as the file has it: what this rank contributes
  std::uint32_t first_dependency{};  // index in ChakraTrace::dependencies; ends at the next node's
  std::uint64_t offset{};            // of the node in the file
};

struct ChakraTrace {
  std::vector<ChakraNode> nodes;            // in an order in which they can run, otherwise by id
  std::vector<std::uint32_t> dependencies;  // indices of nodes
  std::vector<std::string> groups;          // names; empty: all ranks

  [[nodiscard]] std::uint32_t end_of_dependencies(std::size_t node) const {
    return node + 1 < nodes.size() ? nodes[node + 1].first_dependency
                                   : static_cast<std::uint32_t>(dependencies.size());
  }
};

// Of this rank, in a job of so many. `file` is the name in errors.
[[nodiscard]] Result<ChakraTrace, std::string> parse_chakra(std::string_view bytes,
                                                            const std::string& file,
                                                            std::uint32_t rank,
                                                            std::uint32_t ranks);
[[nodiscard]] Result<ChakraTrace, std::string> read_chakra(const std::string& file,
                                                           std::uint32_t rank, std::uint32_t ranks);

}  // namespace nerve::sim
