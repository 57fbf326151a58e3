// The controller of paths: time and memory of its decisions, by the number of GPUs.
//
// Each GPU has a NIC in a fat tree, and four QPs to one other GPU, at random.
#include <benchmark/benchmark.h>

#include <numeric>
#include <vector>

#include "base/prng.h"
#include "sim/control/path_controller.h"
#include "sim/topology/topologies.h"

namespace nerve::sim {
namespace {

constexpr std::uint32_t kQpsPerPair = 4;

struct World {
  explicit World(std::uint32_t ports_per_switch)
      : graph{fat_tree(ports_per_switch, {})}, fabric{1, graph, {controlled()}} {
    std::iota(peers.begin(), peers.end(), 0U);
    Prng prng{1};
    for (std::size_t i = peers.size() - 1; i > 0; --i) std::swap(peers[i], peers[prng.below(i)]);
    fabric.divide(std::vector<std::uint16_t>(graph.nodes.size()), {&part, 1});
  }
  static FabricConfig controlled() {
    FabricConfig config;
    config.path_choice = PathChoice::kControlled;
    return config;
  }
  [[nodiscard]] std::uint32_t gpus() const { return static_cast<std::uint32_t>(peers.size()); }

  void admit_all(PathController& controller) const {
    for (std::uint32_t from = 0; from < gpus(); ++from) {
      const NodeId nic{from};
      for (std::uint32_t qp = 0; qp < kQpsPerPair; ++qp) {
        controller.introduce({nic, NodeId{peers[from]}, Qpn{qp + 1}, Qpn{qp + 1 + kQpsPerPair}},
                             QpNumber{qp});
        (void)controller.admit(nic, QpNumber{qp});
      }
    }
  }

  Graph graph;
  Fabric fabric;
  std::vector<std::uint32_t> peers = std::vector<std::uint32_t>(count_nics(graph));
  FabricPart only;
  FabricPart* part = &only;

 private:
  static std::size_t count_nics(const Graph& graph) {
    return static_cast<std::size_t>(
        std::ranges::count(graph.nodes, NodeKind::kNic, &GraphNode::kind));
  }
};

void Decide(benchmark::State& state) {
  const World world{static_cast<std::uint32_t>(state.range(0))};
  std::size_t memory = 0;
  std::uint32_t most = 0;
  for (auto _ : state) {
    PathController controller{world.fabric};
    world.admit_all(controller);
    if (state.range(1) != 0) (void)controller.improve();
    memory = controller.memory_bytes();
    for (std::uint32_t i = 0; i < world.fabric.ports().size(); ++i) {
      most = std::max(most, controller.load(PortId{i}));
    }
  }
  const double qps = static_cast<double>(world.gpus()) * kQpsPerPair;
  state.counters["gpus"] = world.gpus();
  state.counters["qps"] = qps;
  state.counters["us_per_qp"] = benchmark::Counter(
      qps / 1e6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["memory_MB"] = static_cast<double>(memory) / 1e6;
  state.counters["most_on_a_cable"] = most;  // four would be even
}
// The second argument: whether it improves its decisions in the end.
BENCHMARK(Decide)->ArgsProduct({{16, 32, 74}, {0, 1}})->Unit(benchmark::kMillisecond);

// A cable between two switches fails.
void Move(benchmark::State& state) {
  World world{static_cast<std::uint32_t>(state.range(0))};
  PathController controller{world.fabric};
  world.admit_all(controller);
  const CableId cable{static_cast<std::uint32_t>(world.graph.cables.size() - 1)};
  std::size_t moved = 0;
  for (auto _ : state) {
    world.fabric.take_down(cable);
    moved = controller.cables_changed().size();
    state.PauseTiming();
    world.fabric.bring_up(cable);
    state.ResumeTiming();
  }
  state.counters["gpus"] = world.gpus();
  state.counters["moved"] = static_cast<double>(moved);  // in the last iteration
}
BENCHMARK(Move)->Arg(16)->Arg(32)->Arg(74)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace nerve::sim

BENCHMARK_MAIN();
