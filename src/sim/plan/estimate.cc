#include "sim/plan/estimate.h"

#include <algorithm>

namespace nerve::sim::plan {
namespace {

constexpr std::uint32_t kFewLayers = 2;  // of a pipeline stage, in the smaller run

// The job whose layers repeat, if it is alone: several jobs meet each other at certain times.
TrainingSpec* only_training(Scenario& scenario) {
  if (scenario.jobs.size() != 1) return nullptr;
  return std::get_if<TrainingSpec>(&scenario.jobs.front().work);
}

void set_layers(TrainingSpec& training, std::uint32_t layers) {
  training.model.parameters *= static_cast<double>(layers) / training.model.layers;
  training.model.layers = layers;
}

double line(double first, double second, double beyond) {
  return second + (second - first) * beyond;
}

}  // namespace

EstimateRuns estimate_runs(const Study& study, const Option& option) {
  const Scenario whole = estimate_scenario(study, option);
  EstimateRuns estimate;
  Scenario few = whole;
  TrainingSpec* training = only_training(few);
  const std::uint32_t layers = training == nullptr ? 0 : training->model.layers;
  const std::uint32_t least = training == nullptr ? 0 : kFewLayers * training->parallelism.pipeline;
  if (training == nullptr || layers < 4 * least || layers % least != 0) {
    estimate.runs.push_back({whole, "flow"});
    return estimate;
  }
  set_layers(*training, least);
  estimate.runs.push_back({few, "flow with " + std::to_string(least) + " layers"});
  Scenario twice = whole;
  set_layers(*only_training(twice), 2 * least);
  estimate.runs.push_back({twice, "flow with " + std::to_string(2 * least) + " layers"});
  estimate.beyond = static_cast<double>(layers - 2 * least) / least;
  return estimate;
}

Figures extrapolated(const EstimateRuns& estimate, const std::vector<Figures>& runs) {
  if (runs.size() < 2) return runs.front();
  const Figures& few = runs[0];
  Figures all = runs[1];
  if (!few.done) return few;
  if (!all.done) return all;
  const double beyond = estimate.beyond;
  all.seconds = line(few.seconds, runs[1].seconds, beyond);
  all.bound_seconds = line(few.bound_seconds, runs[1].bound_seconds, beyond);
  all.link_bytes = line(few.link_bytes, runs[1].link_bytes, beyond);
  if (all.idle >= 0) {
    const double exposed = line(few.idle * few.seconds, all.idle * runs[1].seconds, beyond);
    all.idle = std::clamp(exposed / all.seconds, 0.0, 1.0);
  }
  return all;
}

}  // namespace nerve::sim::plan
