// The contents of one Node message of a Chakra trace, before they are checked against the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/chakra/proto_reader.h"

namespace nerve::sim {

struct RawChakraNode {
  std::uint64_t id{};
  std::uint64_t type{};
  std::uint64_t duration_us{};
  std::vector<std::uint64_t> dependencies;  // control and data
  // Attributes.
  std::optional<std::uint64_t> comm_type;
  std::optional<std::uint64_t> comm_size;
  std::optional<std::uint64_t> comm_src;
  std::optional<std::uint64_t> comm_dst;
  std::optional<std::uint64_t> comm_tag;
  std::uint64_t comm_priority{};
  std::uint64_t num_ops{};
  bool on_cpu{};
  bool some_dimensions{};  // involved_dim has a false
  std::string group;       // pg_name
};

// The error is about the byte at `offset`.
struct ChakraDamage {
  std::size_t offset{};
  std::string why;
};
[[nodiscard]] std::optional<ChakraDamage> read_chakra_node(std::string_view bytes,
                                                           std::size_t offset, RawChakraNode& node);
// Of the first message of a file, which is not a node.
[[nodiscard]] std::optional<ChakraDamage> read_chakra_metadata(std::string_view bytes,
                                                               std::size_t offset);

}  // namespace nerve::sim
