#include "sim/run_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/siphash.h"
#include "sim/division.h"

namespace nerve::sim {
namespace {

// Files that the scenario names may differ from machine to machine.
std::string fingerprint_of(const Graph& graph) {
  std::uint64_t state = graph.nodes.size();
  const auto add = [&state](std::uint64_t word) { state = siphash({state, 0}, word); };
  for (const Cable& cable : graph.cables) {
    add(std::uint64_t{cable.a.value()} << 32U | cable.b.value());
    add(cable.rate.bits_per_second());
    add(static_cast<std::uint64_t>(cable.delay.count()));
  }
  return fmt::format("{} nodes and {} cables, {:016x}", graph.nodes.size(), graph.cables.size(),
                     state);
}

}  // namespace

std::string objection_to_ranks(Ranks& ranks, const RunSetup& setup, const RunOptions& options) {
  if (options.trace != nullptr) {
    return "trace: the NICs of a trace must be in one process; run it without mpirun";
  }
  return agree(ranks, {{"number of cores", std::to_string(options.cores)},
                       {"network", fingerprint_of(setup.graph)},
                       {"size of a packet", std::to_string(sizeof(Packet))}});
}

bool runs_alone(const Scenario& scenario, const RunSetup& setup, const RunOptions& options) {
  const std::uint32_t ranks = options.ranks->count();
  if (ranks == 1) return true;
  Divisible made =
      divisible(scenario.servers.post_delay, setup.graph, setup.networks, options.cores * ranks);
  const std::vector<std::uint16_t> parts = divide(setup.graph, made.parts);
  if (made.why.empty() && *std::ranges::max_element(parts) == 0) {
    made.why = "all its NICs are at one switch";
  }
  if (made.why.empty()) return false;
  if (options.ranks->rank() == 0 && options.note) {
    options.note(fmt::format("cannot be divided among {} ranks, because {}; rank 0 runs it alone",
                             ranks, made.why));
  }
  return true;
}

OfRank sum_over_ranks(Simulation& simulation, const OfRank& here) {
  Border* const border = simulation.border();
  OfRank sum = here;
  if (border == nullptr) return sum;
  Packed mine;
  Packer{mine}.put(here);
  std::vector<Packed> all(border->ranks());
  if (!border->gather(mine, all) || !border->is_first_rank()) return sum;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const auto one = Unpacker{all[i]}.take<OfRank>();
    sum.checked += one.checked;
    sum.wrong += one.wrong;
    sum.memory_bytes += one.memory_bytes;
  }
  return sum;
}

}  // namespace nerve::sim
