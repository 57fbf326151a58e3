// The fields of a result, each named once, for writing, reading and hashing. Their order is part of
// the hash.
//
// A visitor is called with a name and a value; `aside` is for fields that may differ between two
// runs of the same scenario and seed, `unless_empty` for text that is left out if there is none.
// `later` is for fields that were added later: files without them are read, and hashes are those of
// before while they are zero. `comment` is for lists that explain the others: files may lack them,
// and they are not hashed.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>

#include "sim/results/derived.h"
#include "sim/results/run_result.h"

namespace nerve::sim {

// A T or a const T.
template <class Maybe, class T>
concept Some = std::same_as<std::remove_const_t<Maybe>, T>;

// Fields that a run without packets does not have.
[[nodiscard]] inline bool is_of_packets(std::string_view name) {
  constexpr std::array<std::string_view, 14> kNames{"data_packets",
                                                    "marked",
                                                    "dropped",
                                                    "lost",
                                                    "pauses",
                                                    "paused",
                                                    "retransmitted",
                                                    "timeouts",
                                                    "congestion_notices",
                                                    "cpu",
                                                    "most_queued",
                                                    "deepest_queues",
                                                    "retransmitted_share",
                                                    "marked_share"};
  return std::ranges::find(kNames, name) != kNames.end();
}

void each_field(Some<RankTime> auto& rank, auto&& visit) {
  visit("compute", rank.compute);
  visit("exposed", rank.exposed);
}

void each_field(Some<FlowResult> auto& flow, auto&& visit) {
  visit("from", flow.from);
  visit("to", flow.to);
  visit("bytes", flow.bytes);
  visit("start", flow.start);
  visit("end", flow.end);
  visit("ideal", flow.ideal);
}

void each_field(Some<JobResult> auto& job, auto&& visit) {
  visit("name", job.name);
  visit("work", job.work);
  visit("done", job.done);
  visit("trouble", job.trouble);
  visit("start", job.start);
  visit("end", job.end);
  visit("steps", job.steps);
  visit("bound", job.bound);
  visit("bound_is", job.bound_is);
  visit("bytes_moved", job.bytes_moved);
  visit("bus_bandwidth", job.bus_bandwidth);
  visit("ranks", job.ranks);
  visit("flow_count", job.flow_count);
  visit("flows", job.flows);
}

void each_field(Some<Totals> auto& totals, auto&& visit) {
  visit("data_packets", totals.data_packets);
  visit("data_bytes", totals.data_bytes);
  visit("marked", totals.marked);
  visit("dropped", totals.dropped);
  visit("lost", totals.lost);
  visit("pauses", totals.pauses);
  visit("paused", totals.paused);
  visit("retransmitted", totals.retransmitted);
  visit("timeouts", totals.timeouts);
  visit("congestion_notices", totals.congestion_notices);
  visit("failed_messages", totals.failed_messages);
  visit("cpu", totals.cpu);
  visit.later("watchdog_trips", totals.watchdog_trips);
  visit.later("policy_fallbacks", totals.policy_fallbacks);
  visit.later("trimmed", totals.trimmed);
  visit.later("link_retries", totals.link_retries);
}

void each_field(Some<NodeResult> auto& node, auto&& visit) {
  visit("name", node.name);
  visit("tier", node.tier);
  visit("is_switch", node.is_switch);
}

void each_field(Some<LinkResult> auto& link, auto&& visit) {
  visit("from", link.from);
  visit("to", link.to);
  visit("rate_bps", link.rate_bps);
  visit("bytes", link.bytes);
  visit("utilisation", link.utilisation);
  visit("most_queued", link.most_queued);
  visit("marked", link.marked);
  visit("dropped", link.dropped);
  visit("lost", link.lost);
  visit("pauses", link.pauses);
  visit("paused", link.paused);
}

void each_field(Some<Series> auto& series, auto&& visit) {
  visit("name", series.name);
  visit("unit", series.unit);
  visit("values", series.values);
}

void each_field(Some<CauseResult> auto& cause, auto&& visit) {
  visit("kind", cause.kind);
  visit("time", cause.time);
  visit("share", cause.share);
  visit("at_most", cause.at_most);
  visit("where", cause.where);
  visit("text", cause.text);
}

void each_field(Some<JobWhy> auto& why, auto&& visit) {
  visit("job", why.job);
  visit("took", why.took);
  visit("floor", why.floor);
  visit("excess", why.excess);
  visit("causes", why.causes);
  visit("paragraph", why.paragraph);
}

void each_field(Some<Trial> auto& trial, auto&& visit) {
  visit("cause", trial.cause);
  visit("set", trial.set);
  visit("job", trial.job);
  visit("done", trial.done);
  visit("took", trial.took);
  visit("takes_away", trial.takes_away);
  visit("error", trial.error);
}

void each_field(Some<RunResult> auto& run, auto&& visit) {
  visit("scenario", run.scenario);
  visit("description", run.description);
  visit.unless_empty("fidelity", run.fidelity);
  visit.aside("version", run.version);
  visit("seed", run.seed);
  visit("simulated", run.simulated);
  visit("events", run.events);
  visit.aside("wall_seconds", run.wall_seconds);
  visit.aside("memory_bytes", run.memory_bytes);
  visit("remarks", run.remarks);
  visit.comment("why", run.why);
  visit.comment("trials", run.trials);
  visit("totals", run.totals);
  visit("jobs", run.jobs);
  visit("nodes", run.nodes);
  visit("links", run.links);
  visit("sample_every", run.sample_every);
  visit("series", run.series);
}

// --- derived figures: written, never read or hashed -------------------------------------------

void each_field(Some<Percentiles> auto& values, auto&& visit) {
  visit("mean", values.mean);
  visit("p50", values.p50);
  visit("p95", values.p95);
  visit("p99", values.p99);
  visit("largest", values.largest);
}

void each_field(Some<SizeClassFigures> auto& one, auto&& visit) {
  visit("name", one.name);
  visit("below", one.below);
  visit("flows", one.flows);
  visit("completion_ps", one.completion_ps);
  visit("slowdown", one.slowdown);
}

void each_field(Some<FlowFigures> auto& flows, auto&& visit) {
  visit("ended", flows.ended);
  visit("unfinished", flows.unfinished);
  visit("completion_ps", flows.completion_ps);
  visit("slowdown", flows.slowdown);
  visit("jain_completion", flows.jain_completion);
  visit("jain_throughput", flows.jain_throughput);
  visit("size_classes", flows.size_classes);
}

void each_field(Some<JobFigures> auto& job, auto&& visit) {
  visit("name", job.name);
  visit("completion", job.completion);
  visit("step_mean", job.step_mean);
  visit("step_least", job.step_least);
  visit("step_most", job.step_most);
  visit("above_bound", job.above_bound);
  visit("compute_share", job.compute_share);
  visit("idle_share", job.idle_share);
  visit("idle_share_worst", job.idle_share_worst);
  visit("bus_bandwidth_bound", job.bus_bandwidth_bound);
  visit("flows", job.flows);
}

void each_field(Some<LinkGroupFigures> auto& group, auto&& visit) {
  visit("name", group.name);
  visit("links", group.links);
  visit("utilisation_mean", group.utilisation_mean);
  visit("utilisation_largest", group.utilisation_largest);
  visit("utilisation_jain", group.utilisation_jain);
  visit("most_queued", group.most_queued);
  visit("marked", group.marked);
  visit("dropped", group.dropped);
  visit("pauses", group.pauses);
  visit("paused", group.paused);
}

void each_field(Some<Equipment> auto& all, auto&& visit) {
  visit("switches", all.switches);
  visit("switch_ports", all.switch_ports);
  visit("cables", all.cables);
}

void each_field(Some<Derived> auto& derived, auto&& visit) {
  visit("jobs", derived.jobs);
  visit("equipment", derived.equipment);
  visit("link_groups", derived.link_groups);
  visit("busiest_links", derived.busiest_links);
  visit("deepest_queues", derived.deepest_queues);
  visit("retransmitted_share", derived.retransmitted_share);
  visit("marked_share", derived.marked_share);
  visit("events_per_second", derived.events_per_second);
}

}  // namespace nerve::sim
