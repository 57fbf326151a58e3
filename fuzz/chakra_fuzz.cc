// Any bytes are either rejected with their position, or a trace whose nodes can run in its order:
// each after those that it depends on, with peers and groups that exist.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "sim/workload/chakra/chakra_world.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nerve::sim;
  constexpr std::uint32_t kRanks = 2;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto trace = parse_chakra(bytes, "f", 0, kRanks);
  if (!trace) {
    CHECK(trace.error().starts_with("f: byte "));
    return 0;
  }
  CHECK(!trace->nodes.empty());
  for (std::size_t i = 0; i < trace->nodes.size(); ++i) {
    const ChakraNode& node = trace->nodes[i];
    CHECK(node.first_dependency <= trace->end_of_dependencies(i));
    for (std::uint32_t at = node.first_dependency; at < trace->end_of_dependencies(i); ++at) {
      CHECK(trace->dependencies[at] < i);
    }
    if (node.type == ChakraType::kSend || node.type == ChakraType::kReceive) CHECK(node.peer == 1);
    if (node.type == ChakraType::kCollective) CHECK(node.group < trace->groups.size());
  }
  // Both ranks have the same trace, which fits unless it has messages.
  ChakraWorld world{kRanks, 400};
  if (!world.add(*trace, "f").empty()) return 0;
  std::uint64_t steps = 0;
  for (const ChakraLane& lane : world.ranks()[0].lanes) {
    CHECK(lane.steps.size() == world.groups()[lane.group].operations.size());
    steps += lane.steps.size();
  }
  CHECK(steps <= world.ranks()[0].steps.size());
  return 0;
}
