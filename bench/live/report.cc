#include "bench/live/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace nerve::bench {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::array<std::string, 6>;

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::kMicroseconds:
      return "us";
    case Unit::kGigabytes:
      return "GB/s";
    case Unit::kMillions:
      return "M/s";
    case Unit::kPercent:
      return "% of a core";
  }
  return "?";
}

// "0.36 us (4 %)"; without a spread for a single run.
std::string cell(const Results& results, std::size_t figure) {
  const Samples& samples = results.samples[figure];
  const Unit unit = results.plan.figures[figure].unit;
  const auto value = best(samples, unit);
  if (!value) return "failed";
  const std::string text = with_unit(*value, unit);
  if (samples.values.size() < 2) return text;
  if (unit == Unit::kPercent) {  // near zero, a share of the best is meaningless
    return fmt::format("{} (to {})", text, with_unit(std::ranges::max(samples.values), unit));
  }
  return fmt::format("{} ({:.0f} %)", text, spread(samples, unit) * 100);
}

std::string aim_text(const Plan& plan, const Line& line) {
  if (!line.aim) return "";
  if (line.beside) return line.aim->text();
  return fmt::format("{} {}", line.aim->text(), name_of(plan.figures[line.ours].unit));
}

Row row_of(const Results& results, const Line& line) {
  const Plan& plan = results.plan;
  Row row{plan.figures[line.ours].name, cell(results, line.ours), "", "", aim_text(plan, line), ""};
  const auto value = value_of(results, line);
  if (line.beside) {
    row[2] = fmt::format("{}: {}", plan.figures[*line.beside].name, cell(results, *line.beside));
    if (value) row[3] = fmt::format("{:.2f}", *value);
  }
  if (line.aim) row[5] = !value ? "?" : line.aim->met_by(*value) ? "met" : "MISSED";
  return row;
}

Json json_of(const Figure& figure, const Samples& samples) {
  Json json{{"name", figure.name},          {"program", figure.program},
            {"options", figure.options},    {"settings", figure.settings},
            {"unit", name_of(figure.unit)}, {"samples", samples.values}};
  if (const auto value = best(samples, figure.unit)) {
    json["best"] = *value;
    json["spread"] = spread(samples, figure.unit);
  }
  if (!samples.failure.empty()) json["failure"] = samples.failure;
  return json;
}

Json json_of(const Results& results, const Line& line) {
  Json json{{"ours", results.plan.figures[line.ours].name}};
  if (line.beside) json["beside"] = results.plan.figures[*line.beside].name;
  const auto value = value_of(results, line);
  if (value) json[line.beside ? "ratio" : "value"] = *value;
  if (!line.aim) return json;
  json["aim"] = line.aim->text();
  if (value) json["met"] = line.aim->met_by(*value);
  return json;
}

}  // namespace

bool Results::complete() const {
  return std::ranges::all_of(samples, [](const Samples& one) { return one.failure.empty(); });
}

std::optional<double> best(const Samples& samples, Unit unit) {
  if (samples.values.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(samples.values);
  return more_is_better(unit) ? most : least;
}

double spread(const Samples& samples, Unit unit) {
  const auto value = best(samples, unit);
  if (!value || *value == 0) return 0;
  const auto [least, most] = std::ranges::minmax(samples.values);
  return (most - least) / *value;
}

std::optional<double> value_of(const Results& results, const Line& line) {
  const auto best_of = [&](std::size_t figure) {
    return best(results.samples[figure], results.plan.figures[figure].unit);
  };
  const auto ours = best_of(line.ours);
  if (!ours || !line.beside) return ours;
  const auto theirs = best_of(*line.beside);
  if (!theirs || *theirs == 0) return std::nullopt;
  return *ours / *theirs;
}

std::string table(const Results& results) {
  std::vector<Row> rows{{"work", "ours", "beside it", "ratio", "aim", ""}};
  for (const Line& line : results.plan.lines) rows.push_back(row_of(results, line));
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += fmt::format("| {:<{}} ", row[i], widths[i]);
    text += "|\n";
    if (&row != rows.data()) continue;
    for (const std::size_t width : widths) text += fmt::format("|{:-<{}}", "", width + 2);
    text += "|\n";
  }
  return text;
}

std::string failures(const Results& results) {
  std::string text;
  for (std::size_t i = 0; i < results.samples.size(); ++i) {
    const std::string& why = results.samples[i].failure;
    if (!why.empty()) text += fmt::format("{}: {}\n", results.plan.figures[i].name, why);
  }
  return text;
}

std::string text_of(const Circumstances& circumstances) {
  const Circumstances& c = circumstances;
  return fmt::format(
      "{}, commit {}, {} CPUs {}, {}, Linux {}\n"
      "best of {}{}, ends pinned to CPUs {}, {} scheduling; in brackets: how far off the worst "
      "was\n",
      c.date, c.commit.empty() ? "unknown" : c.commit, c.cpus, c.cpu, c.architecture, c.kernel,
      c.repeat, c.quick ? " (quick)" : "", c.pinned, c.realtime ? "real-time" : "ordinary");
}

std::string json(const Results& results, const Circumstances& circumstances) {
  const Circumstances& c = circumstances;
  Json whole{
      {"date", c.date},
      {"commit", c.commit},
      {"machine",
       {{"cpu", c.cpu}, {"cpus", c.cpus}, {"architecture", c.architecture}, {"kernel", c.kernel}}},
      {"pinned", c.pinned},
      {"realtime", c.realtime},
      {"quick", c.quick},
      {"repeat", c.repeat}};
  whole["figures"] = Json::array();
  for (std::size_t i = 0; i < results.samples.size(); ++i) {
    whole["figures"].push_back(json_of(results.plan.figures[i], results.samples[i]));
  }
  whole["lines"] = Json::array();
  for (const Line& line : results.plan.lines) whole["lines"].push_back(json_of(results, line));
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace nerve::bench
