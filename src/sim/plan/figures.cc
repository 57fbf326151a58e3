#include "sim/plan/figures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace nerve::sim::plan {
namespace {

using Json = nlohmann::ordered_json;

double seconds(Duration time) { return static_cast<double>(time.count()) * 1e-12; }

// A job cannot end before its start and the bounds of all its steps.
double bound_of(const JobResult& job) {
  const auto steps = static_cast<double>(std::max<std::size_t>(job.steps.size(), 1));
  return seconds(job.start - Time{}) + seconds(job.bound) * steps;
}

const JobWhy* slowest_of(const RunResult& result) {
  const JobWhy* slowest = nullptr;
  for (const JobWhy& why : result.why) {
    if (slowest == nullptr || why.excess > slowest->excess) slowest = &why;
  }
  return slowest;
}

bool number_at(const Json& json, const char* name, double& where) {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_number()) return false;
  where = at->get<double>();
  return std::isfinite(where);
}

bool count_at(const Json& json, const char* name, std::uint64_t& where) {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_number_unsigned()) return false;
  where = at->get<std::uint64_t>();
  return true;
}

bool text_at(const Json& json, const char* name, std::string& where) {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_string()) return false;
  where = at->get<std::string>();
  return true;
}

}  // namespace

Figures figures_of(const RunResult& result) {
  Figures figures;
  figures.done = true;
  figures.seconds = seconds(result.simulated);
  double compute = 0;
  double exposed = 0;
  for (const JobResult& job : result.jobs) {
    if (!job.done && figures.done) {
      figures.done = false;
      figures.trouble = job.name + ": " + job.trouble;
    }
    figures.bound_seconds = std::max(figures.bound_seconds, bound_of(job));
    for (const RankTime& rank : job.ranks) {
      compute += static_cast<double>(rank.compute);
      exposed += static_cast<double>(rank.exposed);
    }
  }
  if (compute + exposed > 0) figures.idle = exposed / (compute + exposed);
  for (const LinkResult& link : result.links) {
    figures.link_bytes += static_cast<double>(link.bytes);
  }
  figures.data_packets = result.totals.data_packets;
  figures.pauses = result.totals.pauses;
  figures.dropped = result.totals.dropped;
  figures.retransmitted = result.totals.retransmitted;
  if (const JobWhy* slowest = slowest_of(result)) figures.why = slowest->paragraph;
  return figures;
}

std::string to_json(const Figures& figures) {
  const Json json{{"nerve_plan_run", 1},
                  {"done", figures.done},
                  {"trouble", figures.trouble},
                  {"seconds", figures.seconds},
                  {"bound_seconds", figures.bound_seconds},
                  {"idle", figures.idle},
                  {"link_bytes", figures.link_bytes},
                  {"data_packets", figures.data_packets},
                  {"pauses", figures.pauses},
                  {"dropped", figures.dropped},
                  {"retransmitted", figures.retransmitted},
                  {"why", figures.why}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Figures> figures_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  std::uint64_t version = 0;
  if (!json.is_object() || !count_at(json, "nerve_plan_run", version) || version != 1) {
    return std::nullopt;
  }
  Figures figures;
  const auto done = json.find("done");
  if (done == json.end() || !done->is_boolean()) return std::nullopt;
  figures.done = done->get<bool>();
  const bool good =
      text_at(json, "trouble", figures.trouble) && number_at(json, "seconds", figures.seconds) &&
      number_at(json, "bound_seconds", figures.bound_seconds) &&
      number_at(json, "idle", figures.idle) && number_at(json, "link_bytes", figures.link_bytes) &&
      count_at(json, "data_packets", figures.data_packets) &&
      count_at(json, "pauses", figures.pauses) && count_at(json, "dropped", figures.dropped) &&
      count_at(json, "retransmitted", figures.retransmitted) && text_at(json, "why", figures.why);
  return good ? std::optional{figures} : std::nullopt;
}

double tokens_of(const Scenario& scenario) {
  double tokens = 0;
  for (const JobSpec& job : scenario.jobs) {
    const auto* training = std::get_if<TrainingSpec>(&job.work);
    if (training == nullptr) continue;
    tokens += static_cast<double>(training->parallelism.data) * training->micro_batches *
              training->sequences_per_batch * training->model.sequence * training->steps;
  }
  return tokens;
}

}  // namespace nerve::sim::plan
