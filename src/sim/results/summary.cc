#include "sim/results/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/results/derived.h"
#include "sim/results/quantity.h"
#include "sim/results/text_table.h"
#include "sim/results/tiers.h"

namespace nerve::sim {
namespace {

void line(std::string& out, std::string_view title, const std::string& text) {
  out += fmt::format("  {:<18}{}\n", title, text);
}

// 64 nic, 8 leaf, 4 spine; 128 switch ports, 96 cables: 64 x 400 Gb/s, 32 x 800 Gb/s
std::string fabric_text(const RunResult& result, const Equipment& equipment) {
  std::map<std::uint16_t, std::size_t> tiers;
  for (const NodeResult& node : result.nodes) ++tiers[node.tier];
  const std::vector<std::string> names = tier_names(result.nodes);
  std::string text;
  for (const auto& [tier, count] : tiers) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, plain(names[tier]));
  }
  std::map<std::uint64_t, std::size_t> rates;
  for (const LinkResult& link : result.links) ++rates[link.rate_bps];
  text += fmt::format("; {} switch ports, {} cables", equipment.switch_ports, equipment.cables);
  std::string_view before = ": ";
  for (const auto& [rate, links] : rates) {
    text += fmt::format("{}{} x {}", std::exchange(before, ", "), links / 2,
                        bit_rate_text(number(rate)));
  }
  return text;
}

void add_steps(std::string& out, const JobResult& job, const JobFigures& figures) {
  if (job.steps.size() == 1) line(out, "step", time_text(figures.step_mean));
  if (job.steps.size() > 1) {
    line(
        out, "step",
        fmt::format("{} on average of {}, {} to {}", time_text(figures.step_mean), job.steps.size(),
                    time_text(figures.step_least), time_text(figures.step_most)));
  }
  if (job.bound.count() > 0) {
    line(out, "bound of a step", fmt::format("{} ({})", time_text(job.bound), plain(job.bound_is)));
    if (!job.steps.empty()) line(out, "above the bound", share_text(figures.above_bound));
  }
  if (job.bus_bandwidth <= 0) return;
  std::string bus = byte_rate_text(job.bus_bandwidth);
  if (figures.bus_bandwidth_bound > 0) {
    bus += fmt::format(" of {} at the bound ({})", byte_rate_text(figures.bus_bandwidth_bound),
                       share_text(job.bus_bandwidth / figures.bus_bandwidth_bound));
  }
  line(out, "bus bandwidth", bus);
}

std::vector<std::string> percentile_cells(const Percentiles& times, const Percentiles& slowdown) {
  return {time_text(times.p50),
          time_text(times.p99),
          time_text(times.largest),
          fmt::format("{:.2f}", slowdown.p50),
          fmt::format("{:.2f}", slowdown.p95),
          fmt::format("{:.2f}", slowdown.p99),
          fmt::format("{:.2f}", slowdown.largest)};
}

void add_flows(std::string& out, const JobResult& job, const FlowFigures& flows) {
  if (job.flows.empty()) return;
  if (flows.unfinished > 0) {
    line(out, "flows", fmt::format("{} ended, {} did not", flows.ended, flows.unfinished));
  }
  if (flows.ended == 0) return;
  line(out, "fairness (Jain)",
       fmt::format("{:.3f} of throughput, {:.3f} of completion time", flows.jain_throughput,
                   flows.jain_completion));
  TextTable table{
      {"flows", "number", "FCT p50", "p99", "max", "slowdown p50", "p95", "p99", "max"}};
  const auto add = [&](std::string name, std::uint64_t count, const Percentiles& times,
                       const Percentiles& slowdown) {
    std::vector<std::string> row{std::move(name), std::to_string(count)};
    for (std::string& cell : percentile_cells(times, slowdown)) row.push_back(std::move(cell));
    table.add(std::move(row));
  };
  if (flows.size_classes.size() > 1) add("all", flows.ended, flows.completion_ps, flows.slowdown);
  for (const SizeClassFigures& one : flows.size_classes) {
    add(one.name, one.flows, one.completion_ps, one.slowdown);
  }
  out += table.text(2);
}

// A paragraph, wrapped and indented as the other lines.
void add_paragraph(std::string& out, std::string_view title, std::string_view text) {
  constexpr std::size_t kWidth = 78;
  while (!text.empty()) {
    std::size_t end = text.size() <= kWidth ? text.size() : text.rfind(' ', kWidth);
    if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    line(out, std::exchange(title, ""), std::string{text.substr(0, end)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// A line or more for each piece.
void add_why(std::string& out, const JobWhy& why) {
  std::string_view title = "why";
  for (const std::string& piece : pieces_of(why)) {
    add_paragraph(out, std::exchange(title, ""), plain(piece));
  }
}

void add_job(std::string& out, const JobResult& job, const JobFigures& figures) {
  out += fmt::format("\n{}: {}\n", plain(job.name), plain(job.work));
  if (!job.done) line(out, "NOT DONE", plain(job.trouble));
  if (figures.completion.count() > 0) line(out, "completion time", time_text(figures.completion));
  add_steps(out, job, figures);
  if (!job.ranks.empty()) {
    line(out, "GPUs idle",
         fmt::format("{} of their time waiting for the network; worst rank {}",
                     share_text(figures.idle_share), share_text(figures.idle_share_worst)));
  }
  if (job.bytes_moved > 0) line(out, "moved", bytes_text(number(job.bytes_moved)));
  add_flows(out, job, figures.flows);
}

std::string outcome_of(const Trial& trial) {
  constexpr double kNothing = 0.005;
  if (!trial.error.empty()) return "cannot run: " + plain(trial.error);
  if (!trial.done) return "does not finish";
  if (std::fabs(trial.takes_away) < kNothing) return "changes nothing";
  return fmt::format("{} {:.0f} %", trial.takes_away < 0 ? "adds" : "takes away",
                     100 * std::fabs(trial.takes_away));
}

// What --explain has measured.
void add_trials(std::string& out, const RunResult& result) {
  if (result.trials.empty()) return;
  out += fmt::format("\nexplained: {}\n", plain(result.trials[0].job));
  TextTable table{{"with", "it takes", "of the time above the bound"}};
  for (const Trial& trial : result.trials) {
    std::string set;
    for (const std::string& one : trial.set) set += (set.empty() ? "" : ", ") + plain(one);
    const bool ran = trial.error.empty() && trial.done;
    table.add({set, ran ? time_text(trial.took) : "-", outcome_of(trial)});
  }
  out += table.text(2);
}

// Of a run without packets.
void add_links_of_flows(std::string& out, const RunResult& result, const Derived& derived) {
  TextTable groups{{"links", "number", "used, mean", "busiest"}};
  for (const LinkGroupFigures& group : derived.link_groups) {
    groups.add({plain(group.name), std::to_string(group.links), share_text(group.utilisation_mean),
                share_text(group.utilisation_largest)});
  }
  if (!groups.empty()) out += groups.text(2);
  constexpr std::size_t kShown = 5;
  TextTable table{{"busiest links", "used", "carried"}};
  for (std::size_t i = 0; i < std::min(kShown, derived.busiest_links.size()); ++i) {
    const LinkResult& link = result.links[derived.busiest_links[i]];
    table.add({plain(link_name(result.nodes, link)), share_text(link.utilisation),
               bytes_text(number(link.bytes))});
  }
  if (!table.empty()) out += "\n" + table.text(2);
  out += '\n';
  line(out, "payload", bytes_text(number(result.totals.data_bytes)));
  line(out, "not simulated",
       "packets: there are no queues, marks, pauses, losses or retransmissions");
  if (result.totals.failed_messages > 0) {
    line(out, "FAILED",
         fmt::format("{} messages were not delivered", result.totals.failed_messages));
  }
}

void add_links(std::string& out, const RunResult& result, const Derived& derived) {
  TextTable groups{{"links", "number", "used, mean", "busiest", "deepest queue", "ECN marks",
                    "dropped", "pauses", "paused"}};
  for (const LinkGroupFigures& group : derived.link_groups) {
    groups.add({plain(group.name), std::to_string(group.links), share_text(group.utilisation_mean),
                share_text(group.utilisation_largest), bytes_text(number(group.most_queued)),
                count_text(number(group.marked)), count_text(number(group.dropped)),
                count_text(number(group.pauses)), time_text(group.paused)});
  }
  if (!groups.empty()) out += groups.text(2);

  constexpr std::size_t kShown = 5;
  TextTable table{{"busiest links", "used", "carried", "deepest queues", "most queued"}};
  const std::size_t rows =
      std::min(kShown, std::max(derived.busiest_links.size(), derived.deepest_queues.size()));
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<std::string> row(5);
    if (i < derived.busiest_links.size()) {
      const LinkResult& link = result.links[derived.busiest_links[i]];
      row[0] = plain(link_name(result.nodes, link));
      row[1] = share_text(link.utilisation);
      row[2] = bytes_text(number(link.bytes));
    }
    if (i < derived.deepest_queues.size()) {
      const LinkResult& link = result.links[derived.deepest_queues[i]];
      row[3] = plain(link_name(result.nodes, link));
      row[4] = bytes_text(link.most_queued);
    }
    table.add(std::move(row));
  }
  if (!table.empty()) out += "\n" + table.text(2);
}

void add_totals(std::string& out, const Totals& totals, const Derived& derived) {
  out += '\n';
  line(out, "data packets",
       fmt::format("{}, {} of payload", count_text(number(totals.data_packets)),
                   bytes_text(number(totals.data_bytes))));
  line(out, "PFC",
       totals.pauses == 0
           ? "no pauses"
           : fmt::format("{} pauses, {} summed over all ports", count_text(number(totals.pauses)),
                         time_text(totals.paused)));
  if (totals.watchdog_trips > 0) {
    line(out, "PFC watchdog",
         fmt::format("{} queues were paused for too long and dropped their packets",
                     count_text(number(totals.watchdog_trips))));
  }
  if (totals.policy_fallbacks > 0) {
    line(out, "policy",
         fmt::format("its guard handed {} times over to Swift",
                     count_text(number(totals.policy_fallbacks))));
  }
  line(out, "congestion",
       fmt::format("{} ECN marks ({} of data packets), {} CNPs received",
                   count_text(number(totals.marked)), share_text(derived.marked_share),
                   count_text(number(totals.congestion_notices))));
  line(out, "lost",
       fmt::format("{} dropped in switches, {} on cables", count_text(number(totals.dropped)),
                   count_text(number(totals.lost))));
  if (totals.trimmed > 0) {
    line(out, "trimmed", fmt::format("{} packets in switches", count_text(number(totals.trimmed))));
  }
  if (totals.link_retries > 0) {
    line(out, "link-level retry",
         fmt::format("{} frames repeated on cables", count_text(number(totals.link_retries))));
  }
  line(out, "recovery",
       fmt::format("{} retransmitted ({}), {} timeout{}", count_text(number(totals.retransmitted)),
                   share_text(derived.retransmitted_share), count_text(number(totals.timeouts)),
                   totals.timeouts == 1 ? "" : "s"));
  if (totals.cpu.count() > 0) {
    line(out, "TCP hosts",
         fmt::format("{} of CPU time, summed over all cores", time_text(totals.cpu)));
  }
  if (totals.failed_messages > 0) {
    line(out, "FAILED", fmt::format("{} messages were not delivered", totals.failed_messages));
  }
}

}  // namespace

std::string summary(const RunResult& result) {
  const Derived derived = derive(result);
  std::string out = plain(result.scenario);
  if (!result.description.empty()) out += ": " + plain(result.description);
  out += '\n';
  line(out, "fabric", fabric_text(result, derived.equipment));
  line(out, "simulated",
       fmt::format("{}, seed {}{}", time_text(result.simulated), result.seed,
                   has_packets(result) ? "" : ", messages as flows"));
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    add_job(out, result.jobs[i], derived.jobs[i]);
    if (i < result.why.size()) add_why(out, result.why[i]);
  }
  add_trials(out, result);
  out += "\nfabric\n";
  if (has_packets(result)) {
    add_links(out, result, derived);
    add_totals(out, result.totals, derived);
  } else {
    add_links_of_flows(out, result, derived);
  }
  out += '\n';
  for (const std::string& remark : result.remarks) line(out, "remark", plain(remark));
  line(out, "hash", fmt::format("{:016x}", hash_of(result)));
  std::string run = fmt::format("{} events", count_text(number(result.events)));
  if (result.wall_seconds > 0) {
    run += fmt::format(" in {}, {} events/s", time_text(result.wall_seconds * 1e12),
                       count_text(derived.events_per_second));
  }
  if (result.memory_bytes > 0) run += ", " + bytes_text(number(result.memory_bytes));
  line(out, "run", run);
  return out;
}

}  // namespace nerve::sim
