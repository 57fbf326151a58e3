#include "bench/live/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace nerve::bench {

bool more_is_better(Unit unit) { return unit == Unit::kGigabytes || unit == Unit::kMillions; }

std::string with_unit(double value, Unit unit) {
  switch (unit) {
    case Unit::kMicroseconds:
      return fmt::format("{:.2f} us", value);
    case Unit::kGigabytes:
      return fmt::format("{:.2f} GB/s", value);
    case Unit::kMillions:
      return fmt::format("{:.2f} M/s", value);
    case Unit::kPercent:
      return fmt::format("{:.2f} %", value);
  }
  return "?";
}

bool Aim::met_by(double value) const {
  switch (kind) {
    case Kind::kAtMost:
      return value <= limit;
    case Kind::kAtLeast:
      return value >= limit;
    case Kind::kBelow:
      return value < limit;
  }
  return false;
}

std::string Aim::text() const {
  const char* const sign = kind == Kind::kAtMost ? "<=" : kind == Kind::kAtLeast ? ">=" : "<";
  return fmt::format("{} {}", sign, limit);
}

std::size_t Plan::place(Figure figure) {
  const auto at = std::ranges::find(figures, figure.name, &Figure::name);
  if (at != figures.end()) return static_cast<std::size_t>(at - figures.begin());
  figures.push_back(std::move(figure));
  return figures.size() - 1;
}

void Plan::add(Figure ours, std::optional<Figure> beside, std::optional<Aim> aim) {
  Line line{.ours = place(std::move(ours)), .beside = std::nullopt, .aim = aim};
  if (beside) line.beside = place(std::move(*beside));
  lines.push_back(line);
}

std::string Plan::title(const Line& line) const {
  const std::string& ours = figures[line.ours].name;
  return line.beside ? fmt::format("{} / {}", ours, figures[*line.beside].name) : ours;
}

Plan Plan::only(const std::string& pattern) const {
  const std::regex wanted{pattern};
  Plan plan;
  for (const Line& line : lines) {
    if (!std::regex_search(title(line), wanted)) continue;
    std::optional<Figure> beside;
    if (line.beside) beside = figures[*line.beside];
    plan.add(figures[line.ours], std::move(beside), line.aim);
  }
  return plan;
}

}  // namespace nerve::bench
