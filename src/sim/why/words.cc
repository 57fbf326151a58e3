#include "sim/why/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/results/quantity.h"
#include "sim/results/tiers.h"
#include "sim/scenario/words.h"

namespace nerve::sim {
namespace {

constexpr double kMoreThanAll = 1.02;
constexpr std::size_t kShownCauses = 4;  // a paragraph is read, a list is looked up

double share_of(Duration part, Duration whole) {
  if (whole <= Duration{}) return 0;
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

std::string many(std::uint64_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

// leaf>spine
std::string group_of(const Evidence& evidence, std::uint32_t port) {
  const RunResult& result = evidence.result;
  const std::vector<std::string> tiers = tier_names(result.nodes);
  const LinkResult& link = result.links[port];
  return tiers[result.nodes[link.from].tier] + ">" + tiers[result.nodes[link.to].tier];
}

std::string fault_names(const Evidence& evidence, std::initializer_list<FaultKind> kinds) {
  std::string names;
  std::size_t count = 0;
  constexpr std::size_t kShown = 3;
  for (const FaultSpec& fault : evidence.scenario.faults) {
    if (std::ranges::find(kinds, fault.kind) == kinds.end()) continue;
    if (fault.at >= evidence.result.simulated) continue;
    if (count++ >= kShown) continue;
    names += (names.empty() ? "" : ", ") + fault.from + (fault.to.empty() ? "" : "-" + fault.to);
  }
  if (count > kShown) names += fmt::format(" and {} more", count - kShown);
  return names;
}

std::string congestion_control_of(const Evidence& evidence) {
  std::string name{scenario_file::name_of(evidence.scenario.nics.flow_control.algorithm,
                                          scenario_file::kCongestion)};
  for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

std::string pauses_text(const Finding& finding) {
  if (finding.pauses <= Duration{}) return {};
  return fmt::format(" Its pauses stop other queues, for up to {}.", time_text(finding.pauses));
}

// Whether the switch before this cable sends all packets of a flow along one path.
bool is_hashed(const Evidence& evidence, std::uint32_t port) {
  const RunResult& result = evidence.result;
  const bool front = evidence.scenario.front_end &&
                     result.nodes[result.links[port].from].name.starts_with("front-");
  const NetworkSpec& network = front ? *evidence.scenario.front_end : evidence.scenario.back_end;
  const PathChoice choice = network.switches.path_choice;
  return choice != PathChoice::kSpray && choice != PathChoice::kAdaptive;
}

std::string collisions(const Evidence& evidence, const Finding& finding) {
  std::string text = fmt::format(
      "{}: flows shared a cable between switches while the cables beside it had room, at {}, most "
      "of all {}",
      is_hashed(evidence, *finding.port) ? "hash collisions" : "uneven load",
      many(finding.count, "cable", "cables"), place_of(evidence, finding));
  if (finding.flows > 1) text += fmt::format(" ({} flows)", finding.flows);
  return text + fmt::format("; {} of the capacity beside it was unused.", percent(finding.unused)) +
         pauses_text(finding);
}

std::string too_few(const Evidence& evidence, const Finding& finding) {
  return fmt::format(
             "too little capacity between switches: queues at {}, most of all {}, while all {} "
             "cables that could have helped were full.",
             many(finding.count, "port", "ports"), place_of(evidence, finding),
             group_of(evidence, *finding.port)) +
         pauses_text(finding);
}

std::string incast(const Evidence& evidence, const Finding& finding) {
  std::string text = fmt::format("incast: a queue before {}, most of all {}",
                                 many(finding.count, "NIC", "NICs"), place_of(evidence, finding));
  if (finding.flows > 1) text += fmt::format(", with up to {} flows at once", finding.flows);
  return text + "." + pauses_text(finding);
}

std::string pauses(const Evidence& evidence, const Diagnosis& diagnosis, const Finding& finding) {
  const bool credits = has_credits(evidence.scenario.back_end.switches.kind);
  const std::string what =
      credits ? "packets waited for credits" : "pauses: queues were stopped by PFC";
  if (diagnosis.circular) {
    return what +
           ", and no port is the root: the switches wait for each other, which is a deadlock.";
  }
  if (!finding.port) return what + "; no sample shows where they begin.";
  const LinkResult& link = evidence.result.links[*finding.port];
  const NodeResult& from = evidence.result.nodes[link.from];
  if (is_storm(evidence, finding)) {
    return what +
           fmt::format(". They begin at {}, which pauses its switch although nothing pauses it.",
                       from.name);
  }
  std::string text = what + fmt::format(". They begin at the queue {}, which nothing stops in turn",
                                        place_of(evidence, finding));
  if (finding.flows > 1) text += fmt::format(" and which {} flows share", finding.flows);
  return text + ".";
}

std::string losses(const Evidence& evidence) {
  const Totals& totals = evidence.result.totals;
  std::string text = fmt::format(
      "losses: {} packets dropped in switches and {} lost on cables, {} "
      "retransmitted, {}.",
      totals.dropped, totals.lost, totals.retransmitted,
      many(totals.timeouts, "timeout", "timeouts"));
  const auto worst = std::ranges::max_element(evidence.result.links, {}, &LinkResult::lost);
  if (worst != evidence.result.links.end() && worst->lost > 0) {
    text += fmt::format(" Most were lost on {}.", link_name(evidence.result.nodes, *worst));
  }
  return text;
}

std::string slow_gpu(const Evidence& evidence, std::size_t job) {
  std::string ranks;
  double slowest = 1;
  constexpr std::size_t kShown = 4;
  const std::vector<Straggler>& all = evidence.scenario.jobs[job].stragglers;
  for (std::size_t i = 0; i < std::min(kShown, all.size()); ++i) {
    ranks += fmt::format("{}{}", i == 0 ? "" : ", ", all[i].rank);
  }
  for (const Straggler& one : all) slowest = std::max(slowest, one.slowdown);
  return fmt::format(
      "slow GPUs: the others wait for rank{} {}{}, which compute{} up to {:g} times as "
      "long.",
      all.size() == 1 ? "" : "s", ranks, all.size() > kShown ? ", ..." : "",
      all.size() == 1 ? "s" : "", slowest);
}

std::string interconnect(const Evidence& evidence, std::size_t job) {
  const PathTimes& path = evidence.jobs[job].path;
  return fmt::format(
      "the interconnect within servers: {} one after the other, at {} per GPU.",
      many(path.server_messages, "message", "messages"),
      bit_rate_text(static_cast<double>(evidence.scenario.servers.interconnect.bits_per_second())));
}

std::string latency(const Evidence& evidence, std::size_t job) {
  const PathTimes& path = evidence.jobs[job].path;
  std::string messages = many(path.messages, "message", "messages") + " between servers";
  if (path.server_messages > 0) messages += fmt::format(" and {} within", path.server_messages);
  return fmt::format("latency: {}, each sent when the one before it had arrived.", messages);
}

std::string sentence_of(const Evidence& evidence, std::size_t job, const Diagnosis& diagnosis,
                        const Finding& finding) {
  switch (finding.cause) {
    case Cause::kCollisions:
      return collisions(evidence, finding);
    case Cause::kTooFewCables:
      return too_few(evidence, finding);
    case Cause::kIncast:
      return incast(evidence, finding);
    case Cause::kPauses:
      return pauses(evidence, diagnosis, finding);
    case Cause::kLosses:
      return losses(evidence);
    case Cause::kHeldBack:
      return fmt::format(
          "congestion control: {} kept NICs below their rate while cables had room and there were "
          "no "
          "queues.",
          congestion_control_of(evidence));
    case Cause::kCableDown:
      return fmt::format(
          "a cable that was down ({}): its packets were lost, and the other cables had to carry "
          "its "
          "traffic.",
          fault_names(evidence, {FaultKind::kDown}));
    case Cause::kSlowCable:
      return fmt::format("a cable that has slowed down ({}) and was busy all the time.",
                         fault_names(evidence, {FaultKind::kRate}));
    case Cause::kBusyNics:
      return "NICs that were busy all the time, because messages of the job share them.";
    case Cause::kSlowGpu:
      return slow_gpu(evidence, job);
    case Cause::kInterconnect:
      return interconnect(evidence, job);
    case Cause::kLatency:
      return latency(evidence, job);
    case Cause::kExposed:
      return "communication that computing does not hide, even at line rate.";
    case Cause::kUnexplained:
      break;
  }
  return evidence.scenario.nics.transport == Transport::kTcp
             ? "not explained; TCP's windows, copies and system calls are not looked at."
             : "not explained by anything that was seen.";
}

std::string advice_for(const Evidence& evidence, const Diagnosis& diagnosis,
                       const Finding& finding) {
  switch (finding.cause) {
    case Cause::kCollisions:
      if (!is_hashed(evidence, *finding.port)) return "another congestion control";
      return "routing = \"spray\" or \"adaptive\" with selective repeat, or more QPs per pair";
    case Cause::kTooFewCables:
      return "less oversubscription, faster trunks, or a placement that crosses fewer switches";
    case Cause::kIncast:
      return "another congestion control, larger buffers, or receivers that admit fewer senders at "
             "a "
             "time (nic.admission)";
    case Cause::kPauses:
      if (diagnosis.circular) return "pfc_watchdog, or routes that form no circle";
      if (is_storm(evidence, finding)) return "replace that NIC, or set pfc_watchdog";
      return "another congestion control, larger buffers, or selective repeat without PFC";
    case Cause::kLosses:
      return "PFC or larger buffers, selective repeat, better cables";
    case Cause::kHeldBack:
      return "another congestion control, or larger steps of this one";
    case Cause::kCableDown:
      return "faster rerouting, adaptive routing, NICs with two ports";
    case Cause::kSlowCable:
      return "replace it, or take it out of service";
    case Cause::kBusyNics:
    case Cause::kExposed:
      return "more overlap, faster NICs, or less to send";
    case Cause::kSlowGpu:
      return "replace it, or give it less work";
    case Cause::kInterconnect:
      return "a faster interconnect, or an algorithm that uses it less";
    case Cause::kLatency:
      return "more data at once, or an algorithm of fewer steps";
    case Cause::kUnexplained:
      break;
  }
  return {};
}

// A step took 3 ms on average, 1 ms (50 %) above its bound of 2 ms.
std::string beginning_of(const Evidence& evidence, std::size_t job, const Diagnosis& diagnosis) {
  const JobResult& result = evidence.result.jobs[job];
  if (!result.done) return "It did not finish.";
  if (!diagnosis.known) return {};
  const auto each = [&](Duration all) {
    return time_text(all / static_cast<std::int64_t>(std::max<std::uint64_t>(diagnosis.steps, 1)));
  };
  const std::string who = diagnosis.steps == 0   ? "A flow took {} on average"
                          : diagnosis.steps == 1 ? "It took {}"
                                                 : "A step took {} on average";
  std::string floor = diagnosis.steps == 0 ? "its ideal time" : "its bound";
  if (diagnosis.steps > 0 && result.floor > Duration{} && result.floor != result.bound) {
    floor = computes(evidence.scenario.jobs[job]) ? "its bound if all GPUs were equal"
                                                  : "its bound if the interconnect took no time";
  }
  const std::string took = fmt::format(fmt::runtime(who), each(diagnosis.took));
  if (diagnosis.at_bound) {
    return fmt::format("{}; {} is {}: there is nothing to explain.", took, floor,
                       each(diagnosis.floor));
  }
  return fmt::format("{}, {} ({}) more than {}, {}.", took, each(diagnosis.excess),
                     percent(share_of(diagnosis.excess, diagnosis.floor)), each(diagnosis.floor),
                     floor);
}

std::string amount_of(const Diagnosis& diagnosis, const Finding& finding) {
  if (!diagnosis.in_shares) {
    return fmt::format("During {} of the job", percent(share_of(finding.time, diagnosis.window)));
  }
  return fmt::format("{} {} of it", finding.at_most ? "At most" : "About",
                     percent(share_of(finding.time, diagnosis.excess)));
}

}  // namespace

std::string place_of(const Evidence& evidence, const Finding& finding) {
  if (!finding.port) return {};
  return link_name(evidence.result.nodes, evidence.result.links[*finding.port]);
}

std::string words_of(const Evidence& evidence, std::size_t job, const Diagnosis& diagnosis,
                     const Finding& finding) {
  return amount_of(diagnosis, finding) + ": " + sentence_of(evidence, job, diagnosis, finding);
}

std::string paragraph_of(const Evidence& evidence, std::size_t job, const Diagnosis& diagnosis) {
  std::string text = beginning_of(evidence, job, diagnosis);
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : " ") + more; };
  std::string advice;
  std::size_t shown = 0;
  Duration sum{};
  for (const Finding& finding : diagnosis.findings) {
    if (shown++ == kShownCauses) break;
    add(words_of(evidence, job, diagnosis, finding));
    sum += finding.time;
    if (advice.empty()) advice = advice_for(evidence, diagnosis, finding);
  }
  if (diagnosis.in_shares && share_of(sum, diagnosis.excess) > kMoreThanAll) {
    add("Causes that act at the same time count the same time, so the shares add up to more than "
        "100 %.");
  }
  if (!advice.empty()) add("Try: " + advice + ".");
  if (!has_packets(evidence.result) && !diagnosis.at_bound) {
    add("Queues, pauses, losses and congestion control are not simulated with flows.");
  }
  return text;
}

std::vector<JobWhy> explain(const Evidence& evidence) {
  std::vector<JobWhy> all;
  for (std::size_t i = 0; i < evidence.result.jobs.size(); ++i) {
    const Diagnosis diagnosis = diagnose(evidence, i);
    JobWhy why{.job = evidence.result.jobs[i].name,
               .took = diagnosis.took,
               .floor = diagnosis.floor,
               .excess = diagnosis.excess,
               .causes = {},
               .paragraph = paragraph_of(evidence, i, diagnosis)};
    for (const Finding& finding : diagnosis.findings) {
      why.causes.push_back(
          {.kind = std::string{name_of(finding.cause)},
           .time = finding.time,
           .share = diagnosis.in_shares ? share_of(finding.time, diagnosis.excess) : 0,
           .at_most = finding.at_most,
           .where = place_of(evidence, finding),
           .text = words_of(evidence, i, diagnosis, finding)});
    }
    all.push_back(std::move(why));
  }
  return all;
}

}  // namespace nerve::sim
