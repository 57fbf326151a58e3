#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "sim/plan/market.h"
#include "sim/plan/plan_report.h"
#include "sim/scenario/units.h"

namespace nerve::sim::plan {
namespace {

using Json = nlohmann::ordered_json;

Json range_json(const Money& money) {
  return {{"low", money.low}, {"typical", money.typical}, {"high", money.high}};
}

std::string_view state_name(State state) {
  switch (state) {
    case State::kWaiting:
      return "waiting";
    case State::kRefused:
      return "refused";
    case State::kPruned:
      return "pruned";
    case State::kEstimated:
      return "estimated";
    case State::kSimulated:
      return "simulated";
    case State::kScaled:
      return "scaled";
    case State::kFailed:
      break;
  }
  return "failed";
}

Json bill_json(const Study& study, const Option& option) {
  Json lines = Json::array();
  for (const BillLine& line : option.bill.lines) {
    const Part& part = study.prices.parts[line.part];
    lines.push_back({{"kind", name_of(part.kind)},
                     {"part", part.name},
                     {"where", line.where},
                     {"count", line.count},
                     {"metres", line.metres},
                     {"price", range_json(price_of(line, part))},
                     {"watts", static_cast<double>(line.count) * part.watts}});
  }
  return lines;
}

Json runs_json(const Option& option) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < option.packets.size(); ++i) {
    const Figures& run = option.packets[i];
    runs.push_back({{"seed", i + 1},
                    {"seconds", run.seconds},
                    {"idle", run.idle},
                    {"pauses", run.pauses},
                    {"dropped", run.dropped},
                    {"retransmitted", run.retransmitted},
                    {"why", run.why}});
  }
  return runs;
}

Json candidate_json(const Study& study, const Option& option) {
  const Candidate& candidate = option.candidate;
  Json json{{"number", option.number},
            {"name", option.name},
            {"state", state_name(option.state)},
            {"reason", option.reason},
            {"network", name_of(candidate.network)},
            {"topology", name_of(candidate.topology)},
            {"oversubscription", candidate.oversubscription},
            {"servers", candidate.servers},
            {"gpus_per_server", candidate.gpus_per_server},
            {"nics_per_server", candidate.nics_per_server},
            {"nic_rate", scenario_file::rate_text(candidate.nic_rate)},
            {"switch", study.prices.parts[candidate.switch_part].name},
            {"cables", name_of(candidate.cabling)}};
  if (candidate.parallelism) {
    json["parallelism"] = {{"data", candidate.parallelism->data},
                           {"tensor", candidate.parallelism->tensor},
                           {"pipeline", candidate.parallelism->pipeline},
                           {"micro_batches", candidate.micro_batches}};
  }
  if (option.bill.lines.empty()) return json;
  json["capital"] = range_json(option.capital);
  json["network_capital"] = range_json(option.network_capital);
  json["energy"] = range_json(option.energy);
  json["total"] = range_json(option.total());
  json["watts"] = option.watts;
  json["switch_ports"] = option.bill.switch_ports;
  if (option.known()) {
    json["seconds"] = option.seconds;
    json["least_seconds"] = option.least_seconds;
    json["most_seconds"] = option.most_seconds;
    json["estimate_seconds"] = option.flow->seconds;
    json["bound_seconds"] = option.flow->bound_seconds;
    json["idle"] = option.idle;
    json["units"] = option.units;
    json["seconds_per_unit"] = seconds_per_unit(option);
    json["cost_per_unit"] = range_json(cost_per_unit(study, option));
    json["too_slow"] = too_slow(study, option);
    if (study.spec.tokens > 0) {
      json["days"] = study.spec.tokens * seconds_per_unit(option) / 86'400;
    }
  }
  json["scaled"] = option.scaled;
  json["remark"] = option.remark;
  json["runs"] = runs_json(option);
  json["bill"] = bill_json(study, option);
  return json;
}

Json sensitivity_json(const Study& study, const Conclusion& conclusion) {
  Json rows = Json::array();
  for (const Sensitivity& one : conclusion.sensitivity) {
    const Part& part = study.prices.parts[one.part];
    rows.push_back({{"part", part.name},
                    {"price", range_json(part.price)},
                    {"low_change", one.low_change},
                    {"high_change", one.high_change},
                    {"best_at_low", one.best_at_low},
                    {"best_at_high", one.best_at_high}});
  }
  return rows;
}

// Of the parts that some candidate uses.
Json prices_json(const Study& study) {
  std::vector<bool> used(study.prices.parts.size());
  for (const Option& option : study.options) {
    for (const BillLine& line : option.bill.lines) used[line.part] = true;
  }
  Json rows = Json::array();
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Part& part = study.prices.parts[i];
    if (!used[i] && part.kind != PartKind::kEnergy) continue;
    rows.push_back({{"kind", name_of(part.kind)},
                    {"part", part.name},
                    {"price", range_json(part.price)},
                    {"watts", part.watts},
                    {"year", part.year},
                    {"basis", name_of(part.basis)},
                    {"source", part.source}});
  }
  return rows;
}

Json rows_json(const std::vector<MarketRow>& rows) {
  Json json = Json::object();
  for (const MarketRow& row : rows) json[row.name] = row.values;
  return json;
}

// Refusals and prunings with the same words, counted.
Json left_out_json(const Study& study) {
  std::map<std::string, std::size_t> counts;
  for (const Option& option : study.options) {
    if (option.state == State::kRefused) ++counts[option.reason];
  }
  Json rows = Json::array();
  for (const auto& [reason, count] : counts) {
    rows.push_back({{"reason", reason}, {"candidates", count}});
  }
  return rows;
}

}  // namespace

std::string plan_json(const Study& study, const Conclusion& conclusion) {
  const PlanSpec& spec = study.spec;
  Json json{{"nerve_plan", 1},
            {"name", spec.name},
            {"description", spec.description},
            {"goal", name_of(spec.goal)},
            {"unit", study.unit},
            {"units_shown", units_shown(study)},
            {"years", spec.years},
            {"gpus", spec.gpus},
            {"budget", spec.budget},
            {"tokens", spec.tokens},
            {"seeds", spec.seeds},
            {"advice", conclusion.advice},
            {"reasons", conclusion.reasons},
            {"best", conclusion.best},
            {"runner_up", conclusion.runner_up},
            {"ranking", conclusion.ranking},
            {"front", conclusion.front}};
  json["candidates"] = Json::array();
  for (const Option& option : study.options) {
    json["candidates"].push_back(candidate_json(study, option));
  }
  json["left_out"] = left_out_json(study);
  json["sensitivity"] = sensitivity_json(study, conclusion);
  json["prices"] = prices_json(study);
  const Market& forecast = market();
  json["market"] = {{"source", forecast.source},
                    {"years", forecast.years},
                    {"by_network", rows_json(forecast.by_network)},
                    {"by_part", rows_json(forecast.by_part)}};
  if (conclusion.best != 0) {
    const NetworkKind network = study.options[conclusion.best - 1].candidate.network;
    json["common"] = commonness(forecast, network);
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace nerve::sim::plan
