#include "sim/workload/make_job.h"

#include <utility>

#include "base/check.h"
#include "sim/workload/chakra/chakra_job.h"
#include "sim/workload/collective_job.h"
#include "sim/workload/flows_job.h"
#include "sim/workload/simai/simai_job.h"
#include "sim/workload/training/training_job.h"
#include "sim/workload/words.h"

namespace nerve::sim {
namespace {

constexpr std::size_t kMostRanks = 1U << 20U;  // as in scenario files

// Empty if there is no objection.
std::string objection_to(const JobSpec& spec, const JobContext& context) {
  if (context.places.empty()) return "it has no ranks";
  if (context.places.size() > kMostRanks) {
    return std::to_string(context.places.size()) + " ranks, the limit is " +
           std::to_string(kMostRanks);
  }
  if (context.gpus_per_server == 0 || context.nics_per_server == 0) {
    return "its servers have " + std::to_string(context.gpus_per_server) + " GPUs and " +
           std::to_string(context.nics_per_server) + " NICs, expected at least 1 of each";
  }
  if (context.nic_rate == Rate{} || context.interconnect == Rate{}) {
    return "NICs and interconnects need a rate above 0";
  }
  if (context.mtu == 0) return "the MTU is 0";
  if (spec.start < Duration::zero()) return "it starts before time 0";
  for (const Straggler& straggler : spec.stragglers) {
    if (straggler.rank >= context.ranks()) {
      return "straggler " + std::to_string(straggler.rank) + " is none of the ranks 0 to " +
             std::to_string(context.ranks() - 1);
    }
    if (!(straggler.slowdown > 0 && straggler.slowdown <= 1000)) {
      return "the slowdown of straggler " + std::to_string(straggler.rank) + " is " +
             number_in_words(straggler.slowdown) + ", expected more than 0 and at most 1000";
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Job>, std::string> make_job(const JobSpec& spec, JobContext context) {
  CHECK(context.places.size() == context.server_of_rank.size());
  const std::string why = objection_to(spec, context);
  if (!why.empty()) return Unexpected{"job " + spec.name + ": " + why};
  if (const auto* const flows = std::get_if<FlowsSpec>(&spec.work)) {
    return make_flows_job(spec, *flows, std::move(context));
  }
  if (const auto* const collective = std::get_if<CollectiveSpec>(&spec.work)) {
    return CollectiveJob::make(spec, *collective, std::move(context));
  }
  if (const auto* const simai = std::get_if<SimaiSpec>(&spec.work)) {
    return SimaiJob::make(spec, *simai, std::move(context));
  }
  if (const auto* const chakra = std::get_if<ChakraSpec>(&spec.work)) {
    return ChakraJob::make(spec, *chakra, std::move(context));
  }
  return TrainingJob::make(spec, *std::get_if<TrainingSpec>(&spec.work), std::move(context));
}

}  // namespace nerve::sim
