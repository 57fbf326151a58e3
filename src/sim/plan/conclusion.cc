#include "sim/plan/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace nerve::sim::plan {
namespace {

constexpr double kEqual = 0.0005;  // a difference in score that nobody pays for

const Option& option_of(const Study& study, std::size_t number) {
  return study.options[number - 1];
}

// Measured options that keep the limits; estimated ones if none was measured.
std::vector<std::size_t> eligible(const Study& study) {
  std::vector<std::size_t> all;
  const bool any = std::ranges::any_of(study.options, &Option::measured);
  for (const Option& option : study.options) {
    const bool counts = any ? option.measured() : option.known();
    if (counts && too_slow(study, option).empty()) all.push_back(option.number);
  }
  return all;
}

void rank(const Study& study, std::vector<std::size_t>& numbers) {
  std::ranges::stable_sort(numbers, [&study](std::size_t a, std::size_t b) {
    const double one = score_of(study, option_of(study, a));
    const double two = score_of(study, option_of(study, b));
    if (one != two) return one < two;
    return option_of(study, a).total().typical < option_of(study, b).total().typical;
  });
}

std::vector<std::size_t> front_of(const Study& study, std::vector<std::size_t> numbers) {
  std::ranges::stable_sort(numbers, [&study](std::size_t a, std::size_t b) {
    const Option& one = option_of(study, a);
    const Option& two = option_of(study, b);
    if (one.total().typical != two.total().typical) {
      return one.total().typical < two.total().typical;
    }
    return seconds_per_unit(one) < seconds_per_unit(two);
  });
  std::vector<std::size_t> front;
  for (const std::size_t number : numbers) {
    const double time = seconds_per_unit(option_of(study, number));
    if (front.empty() || time < seconds_per_unit(option_of(study, front.back()))) {
      front.push_back(number);
    }
  }
  return front;
}

bool differs(const Option& a, const Option& b) {
  return a.candidate.link() != b.candidate.link() || a.candidate.topology != b.candidate.topology ||
         a.candidate.gpus_per_server != b.candidate.gpus_per_server;
}

// The cost of an option if one part had another price.
double score_with(const Study& study, const Option& option, std::size_t part, double price) {
  if (study.spec.goal == Goal::kTime) return score_of(study, option);
  const Part& entry = study.prices.parts[part];
  double change = 0;
  if (entry.kind == PartKind::kEnergy) {
    const double hours =
        energy_hours(watts_of(option.bill, study.prices), study.prices, study.spec.years);
    change = hours * (price - entry.price.typical);
  } else {
    for (const BillLine& line : option.bill.lines) {
      if (line.part == part) {
        change += static_cast<double>(line.count) * (price - entry.price.typical);
      }
    }
  }
  const double total = option.total().typical;
  return score_of(study, option) * (total + change) / total;
}

std::size_t best_with(const Study& study, const std::vector<std::size_t>& numbers, std::size_t part,
                      double price) {
  std::size_t best = 0;
  double least = 0;
  for (const std::size_t number : numbers) {
    const double score = score_with(study, option_of(study, number), part, price);
    if (best != 0 && score >= least) continue;
    best = number;
    least = score;
  }
  return best;
}

bool uses(const Option& option, std::size_t part, const Prices& prices) {
  if (prices.parts[part].kind == PartKind::kEnergy) return true;
  return std::ranges::any_of(option.bill.lines,
                             [part](const BillLine& line) { return line.part == part; });
}

std::vector<Sensitivity> sensitivity_of(const Study& study, const Conclusion& conclusion) {
  std::vector<Sensitivity> all;
  if (conclusion.best == 0) return all;
  const Option& best = option_of(study, conclusion.best);
  for (std::size_t i = 0; i < study.prices.parts.size(); ++i) {
    const bool used = std::ranges::any_of(conclusion.ranking, [&](std::size_t number) {
      return uses(option_of(study, number), i, study.prices);
    });
    if (!used) continue;
    const Money& price = study.prices.parts[i].price;
    const double now = score_of(study, best);
    all.push_back({i, score_with(study, best, i, price.low) / now - 1,
                   score_with(study, best, i, price.high) / now - 1,
                   best_with(study, conclusion.ranking, i, price.low),
                   best_with(study, conclusion.ranking, i, price.high)});
  }
  std::ranges::stable_sort(all, [](const Sensitivity& a, const Sensitivity& b) {
    return a.high_change - a.low_change > b.high_change - b.low_change;
  });
  return all;
}

std::string change_text(double ratio, std::string_view more, std::string_view less) {
  const double share = ratio - 1;
  if (std::abs(share) < 0.0005) return fmt::format("no {}", more);
  return fmt::format("{} {}", share_text(std::abs(share)), share > 0 ? more : less);
}

std::map<PartKind, double> capital_by_kind(const Study& study, const Option& option) {
  std::map<PartKind, double> all;
  for (const BillLine& line : option.bill.lines) {
    const Part& part = study.prices.parts[line.part];
    all[part.kind] += price_of(line, part).typical;
  }
  return all;
}

std::string_view words_for(PartKind kind) {
  switch (kind) {
    case PartKind::kServer:
      return "servers";
    case PartKind::kNic:
      return "NICs";
    case PartKind::kSwitch:
      return "switches";
    case PartKind::kCable:
      return "cables";
    case PartKind::kTransceiver:
      return "transceivers";
    case PartKind::kEnergy:
      break;
  }
  return "electricity";
}

// What makes one cheaper than the other, the largest difference first.
std::vector<std::string> cost_differences(const Study& study, const Option& a, const Option& b) {
  std::map<PartKind, double> difference = capital_by_kind(study, b);
  for (const auto& [kind, dollars] : capital_by_kind(study, a)) difference[kind] -= dollars;
  difference[PartKind::kEnergy] = b.energy.typical - a.energy.typical;
  std::vector<std::pair<PartKind, double>> sorted{difference.begin(), difference.end()};
  std::ranges::stable_sort(sorted, [](const auto& one, const auto& two) {
    return std::abs(one.second) > std::abs(two.second);
  });
  std::vector<std::string> words;
  const double total = b.total().typical;
  for (const auto& [kind, dollars] : sorted) {
    if (std::abs(dollars) < total * 0.0005) continue;
    words.push_back(fmt::format("{} {} {}", words_for(kind), money_text(std::abs(dollars)),
                                dollars > 0 ? "less" : "more"));
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool overlap(const Option& a, const Option& b) {
  return a.least_seconds / a.units <= b.most_seconds / b.units &&
         b.least_seconds / b.units <= a.most_seconds / a.units;
}

std::string seen_with(const Option& option) {
  switch (option.state) {
    case State::kSimulated:
      return fmt::format("packet by packet, {} seeds", option.packets.size());
    case State::kScaled:
      return "packet by packet on a smaller cluster (" + option.scaled + ")";
    default:
      return "with messages as flows";
  }
}

// Where the slower one loses its time.
std::string why_text(const Option& option) {
  const std::string& why =
      option.packets.empty() ? (option.flow ? option.flow->why : "") : option.packets.front().why;
  return why.substr(0, why.find('\n'));
}

// The price of a part at which both have the same score.
std::optional<double> break_even(const Study& study, const Option& a, const Option& b,
                                 std::size_t part) {
  const double price = study.prices.parts[part].price.typical;
  constexpr double kStep = 1;
  const double a_now = score_of(study, a);
  const double b_now = score_of(study, b);
  const double a_slope = score_with(study, a, part, price + kStep) - a_now;
  const double b_slope = score_with(study, b, part, price + kStep) - b_now;
  if (a_slope == b_slope) return std::nullopt;
  const double at = price + (b_now - a_now) / (a_slope - b_slope) * kStep;
  return at >= 0 ? std::optional{at} : std::nullopt;
}

void advise(const Study& study, Conclusion& conclusion) {
  if (conclusion.best == 0) {
    conclusion.advice = "No candidate can be built within the limits.";
    return;
  }
  const Option& best = option_of(study, conclusion.best);
  std::string sentence = fmt::format("Build {}: {}", best.number, best.name);
  switch (study.spec.goal) {
    case Goal::kCostPerRun:
      sentence += fmt::format(", at {}", unit_cost_text(study, best));
      break;
    case Goal::kTime:
      sentence += fmt::format(", the fastest at {} for a run", time_text_of(best.seconds));
      break;
    case Goal::kCost:
      sentence += fmt::format(", the cheapest in time at {} over {} years",
                              money_text(best.total().typical), study.spec.years);
      break;
  }
  if (conclusion.runner_up == 0) {
    conclusion.advice = sentence + "; nothing else is left to compare it with.";
    return;
  }
  const Option& other = option_of(study, conclusion.runner_up);
  const double gain = score_of(study, other) / score_of(study, best) - 1;
  const double time = seconds_per_unit(best) / seconds_per_unit(other);
  const double cost = best.total().typical / other.total().typical;
  if (gain < kEqual) {
    conclusion.advice = fmt::format("{}; {} ({}) is as good.", sentence, other.number, other.name);
  } else {
    conclusion.advice =
        fmt::format("{}, {} less than {} ({}), because it takes {} and costs {}.", sentence,
                    share_text(gain / (1 + gain)), other.number, other.name,
                    change_text(time, "more time", "less time"), change_text(cost, "more", "less"));
  }
  for (const std::size_t number : conclusion.ranking) {
    const Option& equal = option_of(study, number);
    const bool listed = number == conclusion.best || number == conclusion.runner_up;
    if (listed || score_of(study, equal) > score_of(study, best) * (1 + kEqual)) continue;
    conclusion.reasons.push_back(fmt::format("{} ({}) is as good.", number, equal.name));
  }
  const auto differences = cost_differences(study, best, other);
  if (!differences.empty()) {
    conclusion.reasons.push_back(fmt::format("Against {}, over {} years: {}.", other.number,
                                             study.spec.years, joined(differences)));
  }
  if (const std::string why = why_text(other); !why.empty() && time < 0.999) {
    conclusion.reasons.push_back(fmt::format("Where {} loses time: {}", other.number, why));
  }
  if (overlap(best, other) && std::abs(cost - 1) < 0.01) {
    conclusion.reasons.push_back(
        fmt::format("The seeds of {} and {} overlap and their costs are within 1 %: choose the one "
                    "that you would rather operate.",
                    best.number, other.number));
  }
  for (const Sensitivity& one : conclusion.sensitivity) {
    const Part& part = study.prices.parts[one.part];
    for (const auto& [number, price] :
         {std::pair{one.best_at_low, part.price.low}, {one.best_at_high, part.price.high}}) {
      if (number == conclusion.best) continue;
      conclusion.reasons.push_back(
          fmt::format("It depends on the price of {}: at {} instead of {}, {} would be better.",
                      part.name, price_text(price), price_text(part.price.typical), number));
    }
  }
}

}  // namespace

Conclusion conclude(const Study& study) {
  Conclusion conclusion;
  conclusion.ranking = eligible(study);
  rank(study, conclusion.ranking);
  conclusion.front = front_of(study, conclusion.ranking);
  if (!conclusion.ranking.empty()) {
    conclusion.best = conclusion.ranking.front();
    const Option& best = option_of(study, conclusion.best);
    for (const std::size_t number : conclusion.ranking) {
      if (number == conclusion.best) continue;
      if (conclusion.runner_up == 0) conclusion.runner_up = number;
      if (!differs(best, option_of(study, number))) continue;
      conclusion.runner_up = number;
      break;
    }
  }
  conclusion.sensitivity = sensitivity_of(study, conclusion);
  advise(study, conclusion);
  return conclusion;
}

std::vector<std::string> explain(const Study& study, const Option& a, const Option& b) {
  for (const Option* option : {&a, &b}) {
    if (option->known()) continue;
    return {fmt::format("{} {}: not compared: {}", option->number, option->name, option->reason)};
  }
  std::vector<std::string> lines;
  const bool beats = score_of(study, a) < score_of(study, b);
  const Option& winner = beats ? a : b;
  const Option& loser = beats ? b : a;
  const double gain = 1 - score_of(study, winner) / score_of(study, loser);
  lines.push_back(fmt::format("{} {} {} by {} ({}):", a.number, beats ? "beats" : "does not beat",
                              b.number, share_text(gain), name_of(study.spec.goal)));
  for (const Option* option : {&winner, &loser}) {
    lines.push_back(fmt::format("  {:>4}  {}", option->number, option->name));
    lines.push_back(fmt::format("        {}, {}, {} over {} years; {}",
                                unit_cost_text(study, *option), time_text_of(option->seconds),
                                money_text(option->total().typical), study.spec.years,
                                seen_with(*option)));
  }
  lines.push_back(fmt::format(
      "Time: {} takes {}.", winner.number,
      change_text(seconds_per_unit(winner) / seconds_per_unit(loser), "more time", "less time")));
  if (const std::string why = why_text(loser); !why.empty()) {
    lines.push_back(fmt::format("  {} loses time: {}", loser.number, why));
  }
  if (const std::string why = why_text(winner); !why.empty()) {
    lines.push_back(fmt::format("  {} loses time: {}", winner.number, why));
  }
  lines.push_back(
      fmt::format("Cost: {} costs {}.", winner.number,
                  change_text(winner.total().typical / loser.total().typical, "more", "less")));
  const auto differences = cost_differences(study, winner, loser);
  if (!differences.empty()) lines.push_back("  " + joined(differences));
  if (overlap(winner, loser) && winner.measured() && loser.measured()) {
    lines.emplace_back("  Their times overlap within the range of the seeds.");
  }
  for (std::size_t i = 0; i < study.prices.parts.size(); ++i) {
    const Part& part = study.prices.parts[i];
    const auto even = break_even(study, a, b, i);
    const bool close = even && *even <= part.price.high * 2 && *even >= part.price.low / 2;
    if (!close) continue;
    lines.push_back(fmt::format("They would be equal if {} cost {} (now {}, range {} to {}).",
                                part.name, price_text(*even), price_text(part.price.typical),
                                price_text(part.price.low), price_text(part.price.high)));
  }
  return lines;
}

}  // namespace nerve::sim::plan
