// Amounts as people read them.
#include <fmt/format.h>

#include <cmath>

#include "sim/plan/conclusion.h"

namespace nerve::sim::plan {

std::string money_text(double dollars) {
  const double size = std::abs(dollars);
  if (size >= 1e9) return fmt::format("${:.2f} B", dollars / 1e9);
  if (size >= 1e6) return fmt::format("${:.2f} M", dollars / 1e6);
  if (size >= 1e4) return fmt::format("${:.0f} k", dollars / 1e3);
  if (size >= 1) return fmt::format("${:.2f}", dollars);
  return fmt::format("${:.4g}", dollars);
}

std::string price_text(double dollars) {
  return dollars < 1000 ? fmt::format("${:.4g}", dollars) : fmt::format("${:.0f}", dollars);
}

std::string time_text_of(double seconds) {
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

std::string share_text(double share) { return fmt::format("{:.1f} %", share * 100); }

double units_shown(const Study&) { return 1e6; }

std::string unit_text(const Study& study) {
  if (study.unit == "token") return "per million tokens";
  return study.unit == "run" ? "per million runs" : "per million runs of a GPU";
}

std::string unit_cost_text(const Study& study, const Option& option) {
  const Money cost = cost_per_unit(study, option) * units_shown(study);
  return fmt::format("{} {} ({} to {})", money_text(cost.typical), unit_text(study),
                     money_text(cost.low), money_text(cost.high));
}

}  // namespace nerve::sim::plan
