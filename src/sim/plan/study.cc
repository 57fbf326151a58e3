#include "sim/plan/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/plan/layout.h"
#include "sim/plan/parallelism.h"
#include "sim/scenario/units.h"
#include "sim/topology/build_network.h"

namespace nerve::sim::plan {
namespace {

constexpr double kSecondsOfYear = 8766 * 3600;

void refuse(Option& option, std::string why) {
  option.state = State::kRefused;
  option.reason = std::move(why);
}

std::string reason_of(const ScenarioError& error) {
  return error.key.empty() ? error.message : error.key + ": " + error.message;
}

// What a candidate is with a certain number of servers.
class Builder {
 public:
  Builder(const PlanSpec& spec, const Prices& prices) : spec_{spec}, prices_{prices} {}

  // Fills in the option; a refusal if it cannot be built.
  void build(Option& option) {
    option.state = State::kWaiting;
    option.reason.clear();
    Candidate& candidate = option.candidate;
    if (spec_.gpus != 0 && candidate.gpus() != spec_.gpus) {
      return refuse(option, fmt::format("{} GPUs are not whole servers of {}", spec_.gpus,
                                        candidate.gpus_per_server));
    }
    if (!choose(option)) return;
    auto overrides = overrides_of(candidate, spec_, prices_);
    if (!overrides) return refuse(option, overrides.error());
    auto scenario = scenario_of(spec_, *overrides);
    if (!scenario) {
      errors_ = scenario.error();
      return refuse(option, reason_of(scenario.error().front()));
    }
    errors_.clear();
    const NetworkHosts hosts{scenario->servers.count, scenario->servers.nics};
    const auto graph = build_network(scenario->back_end, hosts);
    if (!graph) return refuse(option, graph.error());
    const Part* server = server_part(prices_, candidate.gpus_per_server);
    const Layout layout = lay_out_cables(*graph, candidate.nics_per_server,
                                         server == nullptr ? 1 : server->watts, prices_.site);
    auto bill = bill_of(candidate, *graph, layout, prices_);
    if (!bill) return refuse(option, bill.error());
    option.bill = *std::move(bill);
    option.overrides = *std::move(overrides);
    add_delays(layout, option);
    option.capital = capital_of(option.bill, prices_);
    option.network_capital = network_capital_of(option.bill, prices_);
    option.energy = energy_of(option.bill, prices_, spec_.years);
    option.watts = watts_of(option.bill, prices_) * prices_.site.pue;
    option.units = units_of(*scenario, candidate);
    option.name = name_of(candidate, prices_);
  }

  // Errors of the last scenario that could not be read.
  [[nodiscard]] const std::vector<ScenarioError>& errors() const { return errors_; }

 private:
  // Cables are as long as the racks require.
  void add_delays(const Layout& layout, Option& option) const {
    const scenario_file::Node* fabric = spec_.scenario.find("fabric");
    const auto given = [fabric](const char* key) {
      return fabric != nullptr && fabric->find(key) != nullptr;
    };
    const auto add = [&](const char* key, double metres) {
      if (given(key) || metres <= 0) return;
      option.overrides.push_back(
          {std::string{"fabric."} + key, scenario_file::time_text(delay_of(metres))});
    };
    add("nic_delay", layout.longest_to_nic);
    add("trunk_delay", layout.longest_trunk);
  }

  [[nodiscard]] double units_of(const Scenario& scenario, const Candidate& candidate) const {
    if (spec_.tokens_per_run > 0) return spec_.tokens_per_run;
    const double tokens = tokens_of(scenario);
    if (tokens > 0) return tokens;
    return spec_.gpus == 0 ? candidate.gpus() : 1;
  }

  // The split of training jobs. Of several, the one for the first is used.
  bool choose(Option& option) {
    if (!spec_.choose_parallelism) return true;
    Candidate plain = option.candidate;
    plain.parallelism.reset();
    auto overrides = overrides_of(plain, spec_, prices_);
    if (!overrides) {
      refuse(option, overrides.error());
      return false;
    }
    const auto scenario = scenario_of(spec_, *overrides);
    if (!scenario) {
      errors_ = scenario.error();
      refuse(option, reason_of(scenario.error().front()));
      return false;
    }
    for (const JobSpec& job : scenario->jobs) {
      const auto* training = std::get_if<TrainingSpec>(&job.work);
      if (training == nullptr) continue;
      const auto choice = choose_parallelism(*scenario, *training, spec_.batch, spec_.gpu_memory);
      if (!choice) {
        refuse(option, fmt::format("no split of the model over {} GPUs fits into their memory and "
                                   "divides {} sequences",
                                   plain.gpus(), spec_.batch));
        return false;
      }
      option.candidate.parallelism = choice->split;
      option.candidate.micro_batches = choice->micro_batches;
      return true;
    }
    return true;
  }

  const PlanSpec& spec_;
  const Prices& prices_;
  std::vector<ScenarioError> errors_;
};

// As many servers as the budget buys.
void spend(Builder& builder, const PlanSpec& spec, const Prices& prices, Option& option) {
  const Part* server = server_part(prices, option.candidate.gpus_per_server);
  if (server == nullptr || server->price.typical <= 0) {
    option.candidate.servers = 1;
    builder.build(option);
    return;
  }
  const auto most_servers = kMostGpus / option.candidate.gpus_per_server;
  const double most =
      std::min(spec.budget / server->price.typical, static_cast<double>(most_servers));
  std::uint32_t low = 0;
  auto high = static_cast<std::uint32_t>(most) + 1;
  const auto affordable = [&](std::uint32_t servers) {
    option.candidate.servers = servers;
    builder.build(option);
    return option.state != State::kRefused && option.capital.typical <= spec.budget;
  };
  // Not every number of servers can be built, so the search looks at powers of two and their sums
  // of two: 1, 2, 3, 4, 6, 8, 12, 16, ...
  for (std::uint32_t power = 1; power < high; power *= 2) {
    for (const std::uint32_t servers : {power, power + power / 2}) {
      if (servers > low && servers < high && affordable(servers)) low = servers;
    }
  }
  option.candidate.servers = std::max(low, 1U);
  builder.build(option);
  if (option.state != State::kRefused && option.capital.typical > spec.budget) {
    refuse(option, "the budget does not buy one server with its network");
  }
}

void check_limits(const PlanSpec& spec, Option& option) {
  const LimitSpec& limits = spec.limits;
  if (limits.watts > 0 && option.watts > limits.watts) {
    refuse(option, fmt::format("draws {:.1f} kW with cooling; the limit is {:.1f} kW",
                               option.watts / 1000, limits.watts / 1000));
  } else if (limits.capital > 0 && option.capital.typical > limits.capital) {
    refuse(option, fmt::format("costs ${:.2f} M; the limit is ${:.2f} M",
                               option.capital.typical / 1e6, limits.capital / 1e6));
  } else if (limits.ports > 0 && option.bill.switch_ports > limits.ports) {
    refuse(option, fmt::format("needs {} ports of switches; the limit is {}",
                               option.bill.switch_ports, limits.ports));
  }
}

}  // namespace

Result<Study, std::vector<ScenarioError>> make_study(PlanSpec spec, Prices prices) {
  Study study{std::move(spec), std::move(prices), {}, {}};
  Builder builder{study.spec, study.prices};
  std::vector<ScenarioError> first_errors;
  bool any = false;
  double tokens = study.spec.tokens_per_run;
  for (Candidate& candidate : combinations(study.spec, study.prices)) {
    Option& option = study.options.emplace_back();
    option.number = study.options.size();
    option.candidate = candidate;
    if (study.spec.gpus != 0) {
      builder.build(option);
    } else {
      spend(builder, study.spec, study.prices, option);
    }
    if (option.name.empty()) option.name = name_of(option.candidate, study.prices);
    if (!builder.errors().empty() && first_errors.empty()) first_errors = builder.errors();
    if (option.state == State::kRefused) continue;
    any = true;
    if (const auto scenario = scenario_of(study.spec, option.overrides)) {
      tokens = std::max(tokens, tokens_of(*scenario));
    }
    check_limits(study.spec, option);
  }
  if (!any && !first_errors.empty()) return Unexpected{std::move(first_errors)};
  study.unit = tokens > 0 ? "token" : study.spec.gpus == 0 ? "run of a GPU" : "run";
  return study;
}

double seconds_per_unit(const Option& option) { return option.seconds / option.units; }

Money cost_per_unit(const Study& study, const Option& option) {
  const double life = study.spec.years * kSecondsOfYear;
  const Money total = option.total();
  const double mean = option.seconds / option.units / life;
  return {total.low * (option.least_seconds / option.units / life), total.typical * mean,
          total.high * (option.most_seconds / option.units / life)};
}

double score_of(const Study& study, const Option& option) {
  switch (study.spec.goal) {
    case Goal::kTime:
      return seconds_per_unit(option);
    case Goal::kCost:
      return option.total().typical;
    case Goal::kCostPerRun:
      break;
  }
  return cost_per_unit(study, option).typical;
}

std::string too_slow(const Study& study, const Option& option) {
  const LimitSpec& limits = study.spec.limits;
  const double most = static_cast<double>(limits.time.count()) * 1e-12;
  if (most > 0 && option.seconds > most) {
    return fmt::format("takes {:.4g} ms; the limit is {:.4g} ms", option.seconds * 1e3, most * 1e3);
  }
  const double days = study.spec.tokens * seconds_per_unit(option) / 86'400;
  if (limits.days > 0 && days > limits.days) {
    return fmt::format("takes {:.1f} days; the limit is {:.1f}", days, limits.days);
  }
  return {};
}

}  // namespace nerve::sim::plan
