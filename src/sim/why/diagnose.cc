#include "sim/why/diagnose.h"

#include <algorithm>
#include <cmath>

namespace nerve::sim {

bool is_storm(const Evidence& evidence, const Finding& pauses) {
  if (!pauses.port) return false;
  const RunResult& result = evidence.result;
  return !result.nodes[result.links[*pauses.port].from].is_switch;
}

namespace {

constexpr double kSmall = 0.05;  // of the floor or the excess: not worth a sentence

Duration times(Duration time, double factor) {
  constexpr double kLongest = 9e18;
  return Duration{std::llround(std::min(static_cast<double>(time.count()) * factor, kLongest))};
}
Duration at_least_zero(Duration time) { return std::max(time, Duration{}); }

// What a job of flows without a bound is compared with.
void compare_flows(const JobResult& job, Diagnosis& diagnosis) {
  double took = 0;
  double ideal = 0;
  std::size_t count = 0;
  for (const FlowResult& flow : job.flows) {
    if (flow.end <= flow.start || flow.ideal <= Duration{}) continue;
    took += static_cast<double>((flow.end - flow.start).count());
    ideal += static_cast<double>(flow.ideal.count());
    ++count;
  }
  if (count == 0) return;
  diagnosis.took = times(Duration{1}, took / static_cast<double>(count));
  diagnosis.floor = times(Duration{1}, ideal / static_cast<double>(count));
  diagnosis.known = true;
}

void compare(const JobResult& job, Diagnosis& diagnosis) {
  diagnosis.window = at_least_zero(job.end - job.start);
  if (job.steps.empty() || job.bound <= Duration{}) {
    compare_flows(job, diagnosis);
  } else {
    for (const Duration step : job.steps) diagnosis.took += step;
    diagnosis.steps = job.steps.size();
    diagnosis.floor = (job.floor > Duration{} ? job.floor : job.bound) *
                      static_cast<std::int64_t>(job.steps.size());
    diagnosis.known = diagnosis.in_shares = job.done;
  }
  diagnosis.excess = at_least_zero(diagnosis.took - diagnosis.floor);
  diagnosis.at_bound = diagnosis.known && diagnosis.excess < times(diagnosis.floor, kSmall);
}

// The critical path in parts: rule 1.
struct Parts {
  Duration gpu{};
  Duration server{};
  Duration latency{};
  Duration exposed{};
  Duration network{};
  bool latency_hidden{};  // by other messages, at least in part
};

// How often a message crosses half of the network before its last byte arrives: with admission, a
// clear-to-send message comes first.
std::int64_t crossings(const Evidence& evidence, std::size_t number) {
  const Scenario& scenario = evidence.scenario;
  const bool front = scenario.jobs[number].on_front_end && scenario.front_end;
  const NicSpec& nics = front ? scenario.front_end_nics : scenario.nics;
  return nics.admission.limit > 0 && scenario.fidelity == Fidelity::kPacket ? 2 : 1;
}

// What computing and the floor leave of the network's time.
void divide_network(const Evidence& evidence, std::size_t number, const Diagnosis& diagnosis,
                    Parts& parts) {
  const JobEvidence& job = evidence.jobs[number];
  const PathTimes& path = job.path;
  const Duration post = evidence.scenario.servers.post_delay;
  const Duration latency =
      std::min(path.network, (post + job.half_trip) * path.messages * crossings(evidence, number) +
                                 job.half_trip * path.acknowledgements);
  const double bits = static_cast<double>(path.bytes) * 8 * job.on_cable;
  const Duration at_line_rate =
      times(Duration{1}, bits * 1e12 / static_cast<double>(job.nic_rate.bits_per_second()));
  parts.latency += latency;
  parts.network = path.network;
  if (computes(evidence.scenario.jobs[number])) {
    parts.network -= latency;
    parts.exposed = std::min(parts.network, at_line_rate);
    parts.network -= parts.exposed;
    return;
  }
  if (evidence.result.jobs[number].floor <= Duration{}) return;
  // If the path carries much less than the busiest NIC does, other messages used the NIC while it
  // waited.
  parts.latency_hidden = at_line_rate * 5 < diagnosis.floor * 4;
  if (!parts.latency_hidden) parts.network -= latency;
  parts.network = at_least_zero(parts.network - diagnosis.floor);
}

Parts divide(const Evidence& evidence, std::size_t number, const Diagnosis& diagnosis) {
  const PathTimes& path = evidence.jobs[number].path;
  const bool has_compute = computes(evidence.scenario.jobs[number]);
  Parts parts;
  if (has_compute && !evidence.scenario.jobs[number].stragglers.empty()) {
    parts.gpu = at_least_zero(path.compute - diagnosis.floor);
  }
  const Duration latency =
      std::min(path.server, evidence.scenario.servers.interconnect_delay * path.server_messages);
  parts.latency = latency;
  parts.server = path.server - latency;
  if (!has_compute && evidence.result.jobs[number].floor <= Duration{}) {
    parts.server = at_least_zero(parts.server - diagnosis.floor);
  }
  divide_network(evidence, number, diagnosis, parts);
  std::vector<Duration*> all{&parts.gpu, &parts.server, &parts.exposed, &parts.network};
  if (parts.latency_hidden) {
    parts.latency = std::min(parts.latency, diagnosis.excess);
  } else {
    all.push_back(&parts.latency);
  }
  Duration sum{};
  for (const Duration* const part : all) sum += *part;
  if (sum <= diagnosis.excess) return parts;
  const double scale =
      static_cast<double>(diagnosis.excess.count()) / static_cast<double>(sum.count());
  for (Duration* const part : all) *part = times(*part, scale);
  return parts;
}

// The worst of the ports that a member was seen at, and their number.
struct Worst {
  const Congestion::PortSeen* port{};
  std::uint32_t count{};
};

template <class Wanted>
Worst worst_of(const Evidence& evidence, Duration Congestion::PortSeen::*member, Wanted wanted) {
  Worst worst;
  for (const Congestion::PortSeen& seen : evidence.congestion.ports()) {
    if (seen.*member <= Duration{} || !wanted(seen)) continue;
    ++worst.count;
    const bool first = worst.port == nullptr;
    if (first || seen.*member > worst.port->*member ||
        (seen.*member == worst.port->*member && seen.port < worst.port->port)) {
      worst.port = &seen;
    }
  }
  return worst;
}

Worst worst_of(const Evidence& evidence, Duration Congestion::PortSeen::*member) {
  return worst_of(evidence, member, [](const Congestion::PortSeen&) { return true; });
}

class NetworkCauses {
 public:
  // `most`: the network's part of the excess; all that was seen if shares are unknown.
  NetworkCauses(const Evidence& evidence, std::size_t job, Duration most)
      : evidence_{evidence}, number_{job}, job_{evidence.result.jobs[job]}, most_{most} {}

  [[nodiscard]] std::vector<Finding> find() {
    add_queues();
    add_pauses();
    add_rest();
    std::ranges::stable_sort(found_, std::ranges::greater{}, &Finding::time);
    return std::move(found_);
  }
  [[nodiscard]] Duration seen(Congestion::Column column) const {
    return std::min(most_, evidence_.congestion.seen(column, job_.start, job_.end));
  }

 private:
  Finding& add(Cause cause, Duration time, bool at_most, const Worst& worst = {}) {
    found_.push_back({.cause = cause, .time = time, .at_most = at_most, .count = worst.count});
    if (worst.port != nullptr) {
      found_.back().port = worst.port->port;
      found_.back().flows = worst.port->flows;
    }
    return found_.back();
  }

  [[nodiscard]] bool is_own(std::uint32_t node) const {
    return std::ranges::binary_search(evidence_.jobs[number_].nics, node);
  }

  void add_queues() {
    using Seen = Congestion::PortSeen;
    const Worst collided = worst_of(evidence_, &Seen::collided);
    if (collided.port != nullptr) {
      Finding& made = add(Cause::kCollisions, seen(Congestion::kCollisions), true, collided);
      made.unused = collided.port->unused / static_cast<double>(collided.port->collided.count());
    }
    const Worst crowded = worst_of(evidence_, &Seen::crowded);
    if (crowded.port != nullptr) {
      add(Cause::kTooFewCables, seen(Congestion::kTooFewCables), true, crowded);
    }
    const Worst incast = worst_of(evidence_, &Seen::incast, [this](const Seen& one) {
      return is_own(evidence_.result.links[one.port].to);
    });
    if (incast.port == nullptr) return;
    // The column has all receivers, of other jobs as well.
    const Duration all = seen(Congestion::kIncast);
    const bool whole = incast.port->incast >= all / incast.count;
    add(Cause::kIncast, whole ? all : incast.port->incast * incast.count, true, incast);
  }

  // Pauses that follow from a queue which is named already belong to it.
  void add_pauses() {
    const Duration paused = seen(Congestion::kPaused);
    if (paused <= Duration{}) return;
    const Worst root = worst_of(evidence_, &Congestion::PortSeen::root);
    if (root.port != nullptr) {
      const LinkResult& link = evidence_.result.links[root.port->port];
      const auto is_cause = [&](const Finding& one) {
        if (one.cause == Cause::kCollisions) return root.port->collided > Duration{};
        if (one.cause == Cause::kTooFewCables) return root.port->crowded > Duration{};
        return one.cause == Cause::kIncast && root.port->incast > Duration{} && is_own(link.to);
      };
      const auto known = std::ranges::find_if(found_, is_cause);
      if (known != found_.end() && known->time * 2 >= paused) {
        known->pauses = paused;
        return;
      }
    }
    add(Cause::kPauses, paused, true, root);
  }

  void add_rest() {
    const Totals& totals = evidence_.result.totals;
    const Duration losses = seen(Congestion::kLosses);
    const Duration down = seen(Congestion::kCableDown);
    const bool hit = totals.lost + totals.dropped > 0 || !evidence_.result.jobs[number_].done ||
                     !has_packets(evidence_.result);
    if (down > Duration{} && hit) {
      add(Cause::kCableDown, std::min(most_, down + losses), true);
    } else if (losses > Duration{} && totals.lost + totals.dropped + totals.retransmitted > 0) {
      add(Cause::kLosses, losses, false);
    }
    if (const Duration slow = seen(Congestion::kSlowCable); slow > Duration{}) {
      add(Cause::kSlowCable, slow, true);
    }
    if (const Duration held = seen(Congestion::kHeldBack); held > Duration{}) {
      add(Cause::kHeldBack, held, true);
    }
    if (!computes(evidence_.scenario.jobs[number_])) return;
    if (const Duration busy = seen(Congestion::kBusyNics); busy > Duration{}) {
      add(Cause::kBusyNics, busy, true);
    }
  }

  const Evidence& evidence_;
  std::size_t number_;
  const JobResult& job_;
  Duration most_;
  std::vector<Finding> found_;
};

// Rule 4: faults, and what is measured, before what was merely there.
void put_first(std::vector<Finding>& found, Duration most, const Evidence& evidence,
               const Diagnosis& diagnosis) {
  const auto first = std::ranges::find_if(found, [&](const Finding& one) {
    if (one.time * 2 < most) return false;
    if (one.cause == Cause::kCableDown || one.cause == Cause::kSlowCable) return true;
    if (one.cause == Cause::kLosses) return diagnosis.in_shares;
    return one.cause == Cause::kPauses && (diagnosis.circular || is_storm(evidence, one));
  });
  if (first != found.end()) std::rotate(found.begin(), first, first + 1);
}

void add_parts(const Parts& parts, std::vector<Finding>& findings) {
  const auto add = [&](Cause cause, Duration time) {
    if (time > Duration{}) findings.push_back({.cause = cause, .time = time});
  };
  add(Cause::kSlowGpu, parts.gpu);
  add(Cause::kInterconnect, parts.server);
  if (!parts.latency_hidden) add(Cause::kLatency, parts.latency);
  add(Cause::kExposed, parts.exposed);
}

void find_causes(const Evidence& evidence, std::size_t job, Diagnosis& diagnosis) {
  const Parts parts = divide(evidence, job, diagnosis);
  add_parts(parts, diagnosis.findings);
  std::ranges::stable_sort(diagnosis.findings, std::ranges::greater{}, &Finding::time);
  const Duration small = times(diagnosis.excess, kSmall);
  if (parts.network >= small) {
    NetworkCauses causes{evidence, job, parts.network};
    std::vector<Finding> found = causes.find();
    put_first(found, parts.network, evidence, diagnosis);
    const Duration covered =
        computes(evidence.scenario.jobs[job])
            ? std::max(causes.seen(Congestion::kAnything), causes.seen(Congestion::kBusyNics))
            : causes.seen(Congestion::kAnything);
    if (parts.network - covered >= small) {
      found.push_back({.cause = Cause::kUnexplained, .time = parts.network - covered});
    }
    // They share the network's part, so they stay together, where that part belongs.
    const auto at = std::ranges::find_if(
        diagnosis.findings, [&](const Finding& one) { return one.time < parts.network; });
    diagnosis.findings.insert(at, found.begin(), found.end());
  }
  if (parts.latency_hidden) {
    diagnosis.findings.push_back(
        {.cause = Cause::kLatency, .time = parts.latency, .at_most = true});
  }
  std::erase_if(diagnosis.findings, [&](const Finding& one) { return one.time < small; });
  if (diagnosis.findings.empty()) {
    diagnosis.findings.push_back({.cause = Cause::kUnexplained, .time = diagnosis.excess});
  }
}

}  // namespace

Diagnosis diagnose(const Evidence& evidence, std::size_t job) {
  Diagnosis diagnosis;
  const JobResult& result = evidence.result.jobs[job];
  compare(result, diagnosis);
  diagnosis.circular = evidence.congestion.circular() * 2 > diagnosis.window;
  if (diagnosis.at_bound && result.done) return diagnosis;
  if (diagnosis.in_shares) {
    find_causes(evidence, job, diagnosis);
    return diagnosis;
  }
  diagnosis.findings = NetworkCauses{evidence, job, diagnosis.window}.find();
  put_first(diagnosis.findings, diagnosis.window, evidence, diagnosis);
  const Duration small = std::max(times(diagnosis.window, kSmall), Duration{1});
  std::erase_if(diagnosis.findings, [&](const Finding& one) { return one.time < small; });
  return diagnosis;
}

}  // namespace nerve::sim
