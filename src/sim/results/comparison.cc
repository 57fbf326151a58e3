// comparison(): the figures of several runs side by side. flow_errors(): those of the two
// fidelities of one scenario.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/results/derived.h"
#include "sim/results/quantity.h"
#include "sim/results/summary.h"
#include "sim/results/text_table.h"

namespace nerve::sim {
namespace {

std::string picoseconds_text(double value) { return time_text(value); }
std::string plain_number(double value) { return fmt::format("{:.3f}", value); }

using Text = std::string (*)(double);

// None if the figure does not apply.
using Value = std::optional<double>;

struct OfJob {
  const char* title;
  Text text;
  Value (*value)(const JobResult&, const JobFigures&);
};

Value if_any(bool there, double value) { return there ? Value{value} : std::nullopt; }

constexpr OfJob kJobFigures[]{
    {"completion time", picoseconds_text,
     [](const JobResult& job, const JobFigures& f) {
       return if_any(job.done, number(f.completion));
     }},
    {"step, mean", picoseconds_text,
     [](const JobResult& job, const JobFigures& f) {
       return if_any(!job.steps.empty(), number(f.step_mean));
     }},
    {"above the bound", share_text,
     [](const JobResult& job, const JobFigures& f) {
       return if_any(job.bound.count() > 0 && !job.steps.empty(), f.above_bound);
     }},
    {"bus bandwidth", byte_rate_text,
     [](const JobResult& job, const JobFigures&) {
       return if_any(job.bus_bandwidth > 0, job.bus_bandwidth);
     }},
    {"GPUs idle", share_text,
     [](const JobResult& job, const JobFigures& f) {
       return if_any(!job.ranks.empty(), f.idle_share);
     }},
    {"FCT p50", picoseconds_text,
     [](const JobResult&, const JobFigures& f) {
       return if_any(f.flows.ended > 0, f.flows.completion_ps.p50);
     }},
    {"FCT p99", picoseconds_text,
     [](const JobResult&, const JobFigures& f) {
       return if_any(f.flows.ended > 0, f.flows.completion_ps.p99);
     }},
    {"slowdown p50", plain_number,
     [](const JobResult&, const JobFigures& f) {
       return if_any(f.flows.slowdown.p50 > 0, f.flows.slowdown.p50);
     }},
    {"slowdown p99", plain_number,
     [](const JobResult&, const JobFigures& f) {
       return if_any(f.flows.slowdown.p99 > 0, f.flows.slowdown.p99);
     }},
    {"Jain of throughput", plain_number,
     [](const JobResult&, const JobFigures& f) {
       return if_any(f.flows.ended > 0, f.flows.jain_throughput);
     }},
};

struct OfRun {
  const char* title;
  Text text;
  Value (*value)(const RunResult&, const Derived&);
};

// Counts of packets: none for a run without them.
template <auto Member>
Value total(const RunResult& result, const Derived&) {
  return if_any(has_packets(result), number(result.totals.*Member));
}

double busiest(const RunResult& result) {
  double most = 0;
  for (const LinkResult& link : result.links) most = std::max(most, link.utilisation);
  return most;
}

double deepest(const RunResult& result, const Derived& derived) {
  return derived.deepest_queues.empty() ? 0 : result.links[derived.deepest_queues[0]].most_queued;
}

template <auto Member>
Value bought(const RunResult&, const Derived& derived) {
  return number(derived.equipment.*Member);
}

constexpr OfRun kRunFigures[]{
    {"switches", count_text, bought<&Equipment::switches>},
    {"switch ports", count_text, bought<&Equipment::switch_ports>},
    {"cables", count_text, bought<&Equipment::cables>},
    {"simulated", picoseconds_text,
     [](const RunResult& r, const Derived&) -> Value { return number(r.simulated); }},
    {"busiest link", share_text,
     [](const RunResult& r, const Derived&) -> Value { return busiest(r); }},
    {"deepest queue", bytes_text,
     [](const RunResult& r, const Derived& d) { return if_any(has_packets(r), deepest(r, d)); }},
    {"PFC pauses", count_text, total<&Totals::pauses>},
    {"paused, all ports", picoseconds_text, total<&Totals::paused>},
    {"ECN marks", count_text, total<&Totals::marked>},
    {"CNPs received", count_text, total<&Totals::congestion_notices>},
    {"policy fallbacks", count_text, total<&Totals::policy_fallbacks>},
    {"dropped", count_text, total<&Totals::dropped>},
    {"lost on cables", count_text, total<&Totals::lost>},
    {"retransmitted", count_text, total<&Totals::retransmitted>},
    {"timeouts", count_text, total<&Totals::timeouts>},
    {"data packets", count_text, total<&Totals::data_packets>},
    {"TCP CPU time", picoseconds_text, total<&Totals::cpu>},
    {"events", count_text,
     [](const RunResult& r, const Derived&) -> Value { return number(r.events); }},
    {"events/s", count_text,
     [](const RunResult& r, const Derived& d) -> Value {
       return if_any(r.wall_seconds > 0, d.events_per_second);
     }},
    {"memory", bytes_text,
     [](const RunResult& r, const Derived&) -> Value {
       return if_any(r.memory_bytes > 0, number(r.memory_bytes));
     }},
};

// Omits the row if no run has the figure.
void add_row(TextTable& table, std::string title, Text text, std::span<const Value> values) {
  const auto some = [](const Value& value) { return value && *value != 0; };
  if (std::ranges::none_of(values, some)) return;
  std::vector<std::string> row{std::move(title)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    row.push_back(values[i] ? text(*values[i]) : "-");
    if (i == 0) continue;
    const bool comparable = values[i] && values[0] && *values[0] > 0;
    row.push_back(comparable ? fmt::format("{:.2f} x", *values[i] / *values[0]) : "");
  }
  table.add(std::move(row));
}

// Of all runs, in order of appearance.
std::vector<std::string> job_names(std::span<const RunResult> results) {
  std::vector<std::string> names;
  for (const RunResult& result : results) {
    for (const JobResult& job : result.jobs) {
      if (std::ranges::find(names, job.name) == names.end()) names.push_back(job.name);
    }
  }
  return names;
}

void add_job(TextTable& table, std::span<const RunResult> results, std::span<const Derived> derived,
             const std::string& name) {
  for (const OfJob& figure : kJobFigures) {
    std::vector<Value> values;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto job = std::ranges::find(results[i].jobs, name, &JobResult::name);
      const bool there = job != results[i].jobs.end();
      const auto number_of_job = static_cast<std::size_t>(job - results[i].jobs.begin());
      values.push_back(there ? figure.value(*job, derived[i].jobs[number_of_job]) : std::nullopt);
    }
    add_row(table, plain(name) + ": " + figure.title, figure.text, values);
  }
}

// Runs of the same scenario are labelled by seed, or else by index.
std::string label_of(std::span<const RunResult> results, std::size_t number) {
  const RunResult& own = results[number];
  bool same_name = false;
  bool same_seed = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i == number || results[i].scenario != own.scenario) continue;
    same_name = true;
    same_seed = same_seed || results[i].seed == own.seed;
  }
  if (same_seed) return fmt::format("{} ({})", plain(own.scenario), number + 1);
  if (same_name) return fmt::format("{}, seed {}", plain(own.scenario), own.seed);
  return plain(own.scenario);
}

// +3.2 % of the value with packets; for a share, the difference.
std::string error_text(Text text, double packets, double flows) {
  if (text == share_text) return fmt::format("{:+.1f} points", 100 * (flows - packets));
  return packets > 0 ? fmt::format("{:+.1f} %", 100 * (flows / packets - 1)) : "";
}

void add_error(TextTable& table, const std::string& title, Text text, Value packets, Value flows) {
  if (!packets && !flows) return;
  table.add({title, packets ? text(*packets) : "-", flows ? text(*flows) : "-",
             packets && flows ? error_text(text, *packets, *flows) : ""});
}

double goodput(const JobResult& job, const JobFigures& figures) {
  return figures.completion.count() > 0
             ? number(job.bytes_moved) * 1e12 / number(figures.completion)
             : 0;
}

}  // namespace

std::string flow_errors(const RunResult& packets, const RunResult& flows) {
  const Derived exact = derive(packets);
  const Derived fast = derive(flows);
  TextTable table{{"", "packets", "flows", "error"}};
  for (std::size_t i = 0; i < std::min(packets.jobs.size(), flows.jobs.size()); ++i) {
    const std::string name = plain(packets.jobs[i].name) + ": ";
    for (const OfJob& figure : kJobFigures) {
      add_error(table, name + figure.title, figure.text,
                figure.value(packets.jobs[i], exact.jobs[i]),
                figure.value(flows.jobs[i], fast.jobs[i]));
    }
    add_error(table, name + "goodput", byte_rate_text, goodput(packets.jobs[i], exact.jobs[i]),
              goodput(flows.jobs[i], fast.jobs[i]));
  }
  add_error(table, "simulated", picoseconds_text, number(packets.simulated),
            number(flows.simulated));
  add_error(table, "busiest link", share_text, busiest(packets), busiest(flows));
  table.add({"events", count_text(number(packets.events)), count_text(number(flows.events)), ""});
  table.add({"real time", time_text(packets.wall_seconds * 1e12),
             time_text(flows.wall_seconds * 1e12), ""});
  return table.text(0);
}

std::string beyond_flows(const RunResult& packets) {
  std::string all;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count == 0) return;
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", count_text(number(count)), what);
  };
  add(packets.totals.dropped, "packets dropped");
  add(packets.totals.lost, "packets lost on cables");
  add(packets.totals.pauses, "PFC pauses");
  add(packets.totals.retransmitted, "retransmissions");
  add(packets.totals.timeouts, "timeouts");
  return all;
}

std::string comparison(std::span<const RunResult> results) {
  std::vector<std::string> titles{""};
  std::vector<std::string> hashes{"hash"};
  std::vector<Derived> derived;
  for (std::size_t i = 0; i < results.size(); ++i) {
    titles.push_back(label_of(results, i));
    hashes.push_back(fmt::format("{:016x}", hash_of(results[i])));
    if (i > 0) {  // the ratio column has no title
      titles.emplace_back();
      hashes.emplace_back();
    }
    derived.push_back(derive(results[i]));
  }
  TextTable table{std::move(titles)};
  for (const std::string& name : job_names(results)) add_job(table, results, derived, name);
  for (const OfRun& figure : kRunFigures) {
    std::vector<Value> values;
    for (std::size_t i = 0; i < results.size(); ++i) {
      values.push_back(figure.value(results[i], derived[i]));
    }
    add_row(table, figure.title, figure.text, values);
  }
  table.add(std::move(hashes));
  return table.text(0);
}

}  // namespace nerve::sim
