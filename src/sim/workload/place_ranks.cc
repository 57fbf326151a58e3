#include <numeric>
#include <utility>

#include "base/prng.h"
#include "sim/workload/make_job.h"

namespace nerve::sim {
namespace {

std::vector<std::uint32_t> by_chance(std::uint32_t ranks, std::uint32_t gpus, std::uint64_t seed) {
  Prng prng{seed};
  std::vector<std::uint32_t> all(gpus);
  std::iota(all.begin(), all.end(), 0U);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    std::swap(all[i], all[prng.between(i, gpus - 1)]);
  }
  all.resize(ranks);
  return all;
}

}  // namespace

std::vector<std::uint32_t> place_ranks(const JobSpec& spec, std::uint32_t servers,
                                       std::uint32_t gpus_per_server, std::uint64_t seed) {
  const std::uint64_t gpus = std::uint64_t{servers} * gpus_per_server;
  const std::uint32_t first = spec.placement == Placement::kPacked ? spec.first_gpu : 0;
  if (first >= gpus || gpus > 0xffff'ffff) return {};
  const auto left = static_cast<std::uint32_t>(gpus - first);
  const std::uint32_t ranks = spec.ranks == 0 ? left : spec.ranks;
  if (ranks > left) return {};
  if (spec.placement == Placement::kRandom) return by_chance(ranks, left, seed);

  std::vector<std::uint32_t> gpu_of(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    gpu_of[rank] = spec.placement == Placement::kPacked
                       ? first + rank
                       : rank % servers * gpus_per_server + rank / servers;
  }
  return gpu_of;
}

}  // namespace nerve::sim
