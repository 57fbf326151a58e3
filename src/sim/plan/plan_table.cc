#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/plan/market.h"
#include "sim/plan/plan_report.h"
#include "sim/scenario/units.h"

namespace nerve::sim::plan {
namespace {

using Cells = std::vector<std::string>;

// The second column is the only one aligned to the left.
std::string aligned_rows(const std::vector<Cells>& rows) {
  std::vector<std::size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i == 1 ? fmt::format("{:<{}}  ", row[i], widths[i])
                     : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string seen_text(const Option& option) {
  switch (option.state) {
    case State::kSimulated:
      return fmt::format("packets, {} seeds", option.packets.size());
    case State::kScaled:
      return fmt::format("packets, scaled");
    default:
      return "flows";
  }
}

Cells row_of(const Study& study, const Conclusion& conclusion, const Option& option) {
  const bool on_front =
      std::ranges::find(conclusion.front, option.number) != conclusion.front.end();
  const double unit = units_shown(study);
  return {fmt::format("{}{}",
                      option.number == conclusion.best ? "> "
                      : on_front                       ? "* "
                                                       : "",
                      option.number),
          option.name,
          time_text_of(option.seconds),
          option.idle >= 0 ? share_text(option.idle) : "-",
          money_text(option.capital.typical),
          money_text(option.network_capital.typical),
          fmt::format("{:.0f} kW", option.watts / 1000),
          money_text(cost_per_unit(study, option).typical * unit),
          seen_text(option)};
}

// Finalists by rank, then the estimates, at most so many.
std::vector<std::size_t> shown_order(const Study& study, const Conclusion& conclusion) {
  std::vector<std::size_t> numbers = conclusion.ranking;
  std::vector<std::size_t> rest;
  for (const Option& option : study.options) {
    const bool listed = std::ranges::find(numbers, option.number) != numbers.end();
    if (option.known() && !listed) rest.push_back(option.number);
  }
  std::ranges::stable_sort(rest, {}, [&study](std::size_t number) {
    return score_of(study, study.options[number - 1]);
  });
  numbers.insert(numbers.end(), rest.begin(), rest.end());
  return numbers;
}

void add_left_out(const Study& study, std::string& text) {
  std::map<std::string, std::size_t> refused;
  std::size_t pruned = 0;
  std::size_t all_refused = 0;
  std::string failed;
  for (const Option& option : study.options) {
    if (option.state == State::kPruned) ++pruned;
    if (option.state == State::kFailed) {
      failed += fmt::format("failed: {} {}: {}\n", option.number, option.name, option.reason);
    }
    if (option.state != State::kRefused) continue;
    ++refused[option.reason];
    ++all_refused;
  }
  text += failed;
  if (pruned > 0) {
    text += fmt::format(
        "{} candidates were pruned: each costs no less than one above, and its "
        "bound is at most {} shorter.\n",
        pruned, share_text(study.spec.worth));
  }
  if (all_refused == 0) return;
  std::vector<std::pair<std::string, std::size_t>> sorted{refused.begin(), refused.end()};
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  text += fmt::format("{} cannot be built or exceed a limit:\n", all_refused);
  constexpr std::size_t kMost = 6;
  for (std::size_t i = 0; i < std::min(kMost, sorted.size()); ++i) {
    text += fmt::format("  {:>4}  {}\n", sorted[i].second, sorted[i].first);
  }
  if (sorted.size() > kMost) {
    text +=
        fmt::format("        and {} other reasons; plan.json has them\n", sorted.size() - kMost);
  }
}

void add_bill(const Study& study, const Option& option, std::string& text) {
  text += fmt::format("\nBill of materials of {}:\n", option.number);
  for (const BillLine& line : option.bill.lines) {
    const Part& part = study.prices.parts[line.part];
    const Money price = price_of(line, part);
    text += fmt::format("  {:>7}  {:<24} {:<18} {:>10}  ({} to {})\n", line.count, part.name,
                        line.where, money_text(price.typical), money_text(price.low),
                        money_text(price.high));
  }
}

}  // namespace

std::string plan_table(const Study& study, const Conclusion& conclusion) {
  const std::vector<std::size_t> order = shown_order(study, conclusion);
  constexpr std::size_t kMostRows = 30;
  std::vector<Cells> rows{{"#", "candidate", "time", "idle", "capital", "network", "power",
                           "$ " + unit_text(study), "seen with"}};
  for (std::size_t i = 0; i < std::min(order.size(), kMostRows); ++i) {
    rows.push_back(row_of(study, conclusion, study.options[order[i] - 1]));
  }
  std::string text = order.empty() ? "" : aligned_rows(rows);
  if (order.size() > kMostRows) {
    text += fmt::format("and {} more in plan.json\n", order.size() - kMostRows);
  }
  text += "\n";
  add_left_out(study, text);
  for (const Option& option : study.options) {
    if (!option.scaled.empty()) {
      text += fmt::format(
          "{}: packets were simulated with {}; the estimate of the whole cluster is "
          "corrected by packets over flows there.\n",
          option.number, option.scaled);
    }
    if (!option.remark.empty()) text += fmt::format("{}: {}\n", option.number, option.remark);
  }
  if (conclusion.best != 0) {
    const Option& best = study.options[conclusion.best - 1];
    add_bill(study, best, text);
    text += "\n" + conclusion.advice + "\n";
    for (const std::string& reason : conclusion.reasons) text += reason + "\n";
    const std::string common = commonness(market(), best.candidate.network);
    if (!common.empty()) text += common + "\n";
  } else {
    text += "\n" + conclusion.advice + "\n";
  }
  return text;
}

std::string price_table(const Prices& prices) {
  std::vector<Cells> rows{{"kind", "part", "low", "price", "high", "power", "year", "basis"}};
  for (const Part& part : prices.parts) {
    rows.push_back({std::string{name_of(part.kind)}, part.name, money_text(part.price.low),
                    money_text(part.price.typical), money_text(part.price.high),
                    part.watts > 0 ? scenario_file::power_text(part.watts) : "-",
                    std::to_string(part.year), std::string{name_of(part.basis)}});
  }
  return aligned_rows(rows);
}

}  // namespace nerve::sim::plan
