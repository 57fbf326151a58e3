#include "cli/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/sim_state.h"
#include "host/diagnostics/amounts.h"
#include "sim/results/statistics.h"

namespace nerve::cli {
namespace {

using Json = nlohmann::ordered_json;

double slowdown_p99(const sim::RunResult& result) {
  std::vector<double> all;
  for (const sim::JobResult& job : result.jobs) {
    for (const sim::FlowResult& flow : job.flows) {
      if (flow.ideal.count() <= 0 || flow.end <= flow.start) continue;
      all.push_back(static_cast<double>((flow.end - flow.start).count()) /
                    static_cast<double>(flow.ideal.count()));
    }
  }
  return sim::percentiles_of(std::move(all)).p99;
}

double exposed_share(const sim::RunResult& result) {
  double exposed = 0;
  double all = 0;
  for (const sim::JobResult& job : result.jobs) {
    for (const sim::RankTime& rank : job.ranks) {
      exposed += static_cast<double>(rank.exposed);
      all += static_cast<double>(rank.exposed) + static_cast<double>(rank.compute);
    }
  }
  return all > 0 ? exposed / all : 0;
}

struct Column {
  std::string name;
  std::function<std::string(const Figures&)> text;
  std::function<bool(const Figures&)> matters;  // in some row; otherwise the column is left out
};

std::vector<Column> columns() {
  const auto count = [](std::string name, std::uint64_t sim::Totals::*member) {
    return Column{std::move(name),
                  [member](const Figures& f) { return host::count_text(f.totals.*member); },
                  [member](const Figures& f) { return f.totals.*member > 0; }};
  };
  const auto always = [](const Figures&) { return true; };
  return {
      {"completion", [](const Figures& f) { return simulated_text(f.completion_ps); }, always},
      {"bus GB/s", [](const Figures& f) { return fmt::format("{:.1f}", f.bus_bandwidth / 1e9); },
       [](const Figures& f) { return f.bus_bandwidth > 0; }},
      {"p99 slowdown", [](const Figures& f) { return fmt::format("{:.2f}", f.slowdown_p99); },
       [](const Figures& f) { return f.slowdown_p99 > 0; }},
      {"exposed", [](const Figures& f) { return fmt::format("{:.1f} %", f.exposed * 100); },
       [](const Figures& f) { return f.exposed > 0; }},
      count("pauses", &sim::Totals::pauses),
      count("marked", &sim::Totals::marked),
      count("dropped", &sim::Totals::dropped),
      count("lost", &sim::Totals::lost),
      count("sent again", &sim::Totals::retransmitted),
      {"jobs", [](const Figures& f) { return f.all_done ? "done" : "NOT DONE"; },
       [](const Figures& f) { return !f.all_done; }},
      {"wall", [](const Figures& f) { return fmt::format("{:.1f} s", f.wall_seconds); }, always},
  };
}

std::string aligned(const std::vector<std::vector<std::string>>& lines, std::size_t to_the_left) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    if (line.size() <= to_the_left + 1) continue;  // an error does not widen the columns
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool left = i < to_the_left || line.size() == to_the_left + 1;
      row += fmt::format(fmt::runtime(left ? "{:<{}}  " : "{:>{}}  "), line[i], widths[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace

Figures figures_of(const sim::RunResult& result) {
  Figures figures;
  figures.completion_ps = static_cast<std::uint64_t>(result.simulated.count());
  for (const sim::JobResult& job : result.jobs) {
    if (figures.bus_bandwidth == 0) figures.bus_bandwidth = job.bus_bandwidth;
  }
  figures.slowdown_p99 = slowdown_p99(result);
  figures.exposed = exposed_share(result);
  figures.totals = result.totals;
  figures.wall_seconds = result.wall_seconds;
  figures.all_done = all_done(result);
  return figures;
}

std::string sweep_table(const std::vector<Axis>& axes, const std::vector<SweepRow>& rows) {
  std::vector<Column> shown = columns();
  std::erase_if(shown, [&rows](const Column& column) {
    return std::ranges::none_of(
        rows, [&](const SweepRow& row) { return row.figures && column.matters(*row.figures); });
  });
  std::vector<std::vector<std::string>> lines(1);
  for (const Axis& axis : axes) lines[0].push_back(axis.key);
  for (const Column& column : shown) lines[0].push_back(column.name);
  for (const SweepRow& row : rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const sim::Override& value : row.cell.values) line.push_back(value.value);
    if (!row.figures) {
      line.push_back(row.error.empty() ? "not run" : "FAILED: " + row.error);
      continue;
    }
    for (const Column& column : shown) line.push_back(column.text(*row.figures));
  }
  return aligned(lines, axes.size());
}

std::string sweep_json(const std::string& scenario, const std::vector<Axis>& axes,
                       const std::vector<SweepRow>& rows) {
  Json json{{"scenario", scenario}, {"vary", Json::array()}, {"runs", Json::array()}};
  for (const Axis& axis : axes)
    json["vary"].push_back({{"key", axis.key}, {"values", axis.values}});
  for (const SweepRow& row : rows) {
    Json run{{"values", Json::object()}};
    for (const sim::Override& value : row.cell.values) run["values"][value.key] = value.value;
    if (row.figures) {
      const Figures& figures = *row.figures;
      run["result"] = row.result;
      run["all_done"] = figures.all_done;
      run["completion_ps"] = figures.completion_ps;
      run["bus_bandwidth"] = figures.bus_bandwidth;
      run["slowdown_p99"] = figures.slowdown_p99;
      run["exposed"] = figures.exposed;
      run["pauses"] = figures.totals.pauses;
      run["marked"] = figures.totals.marked;
      run["dropped"] = figures.totals.dropped;
      run["lost"] = figures.totals.lost;
      run["retransmitted"] = figures.totals.retransmitted;
      run["wall_seconds"] = figures.wall_seconds;
    } else {
      run["error"] = row.error.empty() ? "not run" : row.error;
    }
    json["runs"].push_back(std::move(run));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace nerve::cli
