// Any text is either rejected with a line number, or is a graph that can be routed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "sim/fabric/routes.h"
#include "sim/topology/graph_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nerve::sim;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto graph = parse_graph(text, "f");
  if (!graph) {
    CHECK(graph.error().starts_with("f:"));
    return 0;
  }
  CHECK(!graph->nodes.empty());
  for (const Cable& cable : graph->cables) {
    CHECK(cable.a.value() < graph->nodes.size() && cable.b.value() < graph->nodes.size());
    CHECK(cable.rate.bits_per_second() > 0 && cable.delay >= nerve::Duration{});
  }
  constexpr std::size_t kSmall = 200;  // so that the fuzzer is not slow
  if (graph->nodes.size() > kSmall) return 0;
  const Routes routes{*graph};
  for (std::uint32_t i = 0; i < graph->nodes.size(); ++i) {
    if (graph->nodes[i].kind != NodeKind::kNic) break;
    for (std::uint32_t k = 0; k < i; ++k) {
      const NodeId a{i};
      const NodeId b{k};
      CHECK(routes.distance(a, b) == routes.distance(b, a));
    }
  }
  return 0;
}
