#include "cli/path_prober.h"

#include <algorithm>

namespace nerve::cli {
namespace {

using std::chrono::milliseconds;

// Paths in use are measured as a whole in one round of so many; in the others their last router is
// asked.
constexpr std::uint64_t kRoundsBetweenTraces = 10;
constexpr milliseconds kLongestWait{1000};
constexpr std::size_t kMostRouters = 256;  // remembered for each limit of hops

}  // namespace

PathProber::~PathProber() {
  for (const Trace& trace : running_) sender_.close(trace.socket);
}

void PathProber::use(std::span<const controller::LiveFlow> flows, Moment now) {
  paths_.use(flows, now);
}

void PathProber::measure(const controller::ProbeOrder& order, Moment now) {
  const Endpoints between{.source = order.source, .destination = order.destination};
  if (paths_.find(between) == nullptr) return;
  for (const std::uint16_t port : order.ports) {
    enqueue({.between = between, .port = port, .purpose = Purpose::kOrdered});
  }
  begin(now);
}

void PathProber::enqueue(const Job& job) {
  const auto same = [&](const Job& one) {
    return one.port == job.port && one.between == job.between;
  };
  for (Job& one : waiting_) {
    if (!same(one)) continue;
    one.purpose = std::min(one.purpose, job.purpose);
    return;
  }
  const auto under_way =
      std::ranges::find_if(running_, [&](const Trace& one) { return same(one.job); });
  const bool replaces = under_way != running_.end() && under_way->job.purpose == Purpose::kCheck &&
                        job.purpose != Purpose::kCheck;
  if (replaces) {
    end(*under_way);
    running_.erase(under_way);
  } else if (under_way != running_.end()) {
    under_way->job.purpose = std::min(under_way->job.purpose, job.purpose);
    return;
  }
  if (waiting_.size() < kMostWaiting) waiting_.push_back(job);
}

void PathProber::release(std::uint16_t port) {
  std::erase_if(waiting_, [&](const Job& job) { return job.port == port; });
  std::erase_if(running_, [&](Trace& trace) {
    if (trace.job.port != port) return false;
    end(trace);
    return true;
  });
}

void PathProber::end(Trace& trace) { sender_.close(trace.socket); }

void PathProber::begin(Moment now) {
  while (running_.size() < kParallel && !waiting_.empty()) {
    const Job job = waiting_.front();
    waiting_.pop_front();
    const KnownPaths::Pair* const pair = paths_.find(job.between);
    if (pair == nullptr || paths_.is_in_use(job.between, job.port)) continue;
    Trace trace;
    trace.job = job;
    if (job.purpose == Purpose::kCheck) {
      const auto known = pair->ports.find(job.port);
      if (known == pair->ports.end() || known->second.hops.empty()) continue;
      trace.hops = known->second.hops;
      trace.hop = trace.hops.size();
    }
    const auto socket = sender_.open(job.between.source, job.port, pair->traffic_class);
    if (!socket) continue;  // somebody has the port: its path stays unknown
    trace.socket = *socket;
    send(trace, now);
    running_.push_back(std::move(trace));
  }
}

unsigned PathProber::tries_for(const Trace& trace) const {
  const KnownPaths::Pair* const pair = paths_.find(trace.job.between);
  if (pair == nullptr) return 0;
  if (trace.job.purpose == Purpose::kCheck) {
    return routers_.may_be_limited(trace.hops.back()) ? kPatientCheckTries : kCheckTries;
  }
  const auto known = pair->ports.find(trace.job.port);
  if (trace.job.purpose == Purpose::kAgain && known != pair->ports.end()) {
    const Hops& hops = known->second.hops;
    const bool router = trace.hop <= hops.size() && !hops[trace.hop - 1].is_zero();
    return router && routers_.may_be_limited(hops[trace.hop - 1]) ? kPatientCheckTries : kTries;
  }
  const auto limited = [&](const wire::Gid& router) { return routers_.may_be_limited(router); };
  const bool patient = trace.hop <= pair->routers.size() &&
                       std::ranges::any_of(pair->routers[trace.hop - 1], limited);
  return patient ? kPatientTries : kTries;
}

void PathProber::send(Trace& trace, Moment now) {
  sender_.send(trace.socket, trace.job.between.destination, static_cast<std::uint8_t>(trace.hop));
  const unsigned doubled = tries_for(trace) > kTries ? std::min(trace.tries, 4U) : 0;
  ++trace.tries;
  const auto wait = trace.job.purpose == Purpose::kCheck ? kCheckWait : kWait;
  trace.deadline = now + std::min(wait * (1U << doubled), kLongestWait);
}

void PathProber::note_router(KnownPaths::Pair& pair, std::size_t hop, const wire::Gid& router) {
  if (pair.routers.size() < hop) pair.routers.resize(hop);
  Hops& routers = pair.routers[hop - 1];
  const bool is_new = std::ranges::find(routers, router) == routers.end();
  if (is_new && routers.size() < kMostRouters) routers.push_back(router);
}

// On to the next router.
bool PathProber::step(Trace& trace, const wire::Gid& router, Moment now) {
  trace.hops.push_back(router);
  if (trace.hop >= controller::kMaxHops) return false;
  ++trace.hop;
  trace.tries = 0;
  send(trace, now);
  return true;
}

void PathProber::conclude(Trace& trace) {
  KnownPaths::Pair* const pair = paths_.find(trace.job.between);
  if (pair == nullptr) return;
  while (!trace.hops.empty() && trace.hops.back().is_zero()) trace.hops.pop_back();
  const Job& job = trace.job;
  const auto outcome =
      paths_.measured(*pair, job.port, std::move(trace.hops), job.purpose == Purpose::kOrdered);
  // Its last router decides: those before it may have answered others.
  if (outcome.ends_early && !pair->ports[job.port].lost) {
    enqueue({.between = job.between, .port = job.port, .purpose = Purpose::kCheck});
  }
  for (const std::uint16_t port : outcome.others) {
    enqueue({.between = job.between, .port = port, .purpose = Purpose::kAgain});
  }
}

bool PathProber::answer_to(Trace& trace, const ProbeAnswer& answer, Moment now) {
  KnownPaths::Pair* const pair = paths_.find(trace.job.between);
  if (pair == nullptr) return false;
  if (!answer.reached) routers_.answered(answer.router, trace.tries == 1, now);
  if (trace.job.purpose == Purpose::kCheck) {
    const bool same = !answer.reached && answer.router == trace.hops.back();
    // One that is back may be another path to the same router.
    const bool was_lost = pair->ports[trace.job.port].lost;
    if (same && was_lost) routers_.was_late(answer.router, now);
    if (!same || was_lost) {
      Job again = trace.job;
      again.purpose = Purpose::kAgain;
      enqueue(again);
    }
    return false;
  }
  if (!answer.reached) {
    note_router(*pair, trace.hop, answer.router);
    if (step(trace, answer.router, now)) return true;
  }
  conclude(trace);
  return false;
}

bool PathProber::silence_at(Trace& trace, Moment now) {
  KnownPaths::Pair* const pair = paths_.find(trace.job.between);
  if (pair == nullptr) return false;
  if (trace.tries < tries_for(trace)) {
    send(trace, now);
    return true;
  }
  if (trace.job.purpose == Purpose::kCheck) {
    paths_.lost(*pair, trace.job.port);
    return false;
  }
  // A router that never answers, before ones that do?
  const auto known = pair->ports.find(trace.job.port);
  const bool was_longer = known != pair->ports.end() && known->second.hops.size() >= trace.hop;
  const bool silent =
      was_longer ? known->second.hops[trace.hop - 1].is_zero() : trace.hop < pair->routers.size();
  if (silent && step(trace, {}, now)) return true;
  conclude(trace);
  return false;
}

void PathProber::answered(const ProbeAnswer& answer, Moment now) {
  const auto place = std::ranges::find(running_, answer.socket, &Trace::socket);
  if (place == running_.end()) return;
  // To an earlier probe?
  if (answer.hop_limit != 0 && answer.hop_limit != place->hop) return;
  const bool check = place->job.purpose == Purpose::kCheck;
  if (!check && answer.hop_limit == 0 && !place->hops.empty() &&
      place->hops.back() == answer.router) {
    return;
  }
  Trace trace = std::move(*place);
  running_.erase(place);  // first: it may be enqueued again
  if (answer_to(trace, answer, now)) {
    running_.push_back(std::move(trace));
  } else {
    end(trace);
  }
  begin(now);
}

void PathProber::look_after_paths(Moment now) {
  if (now - checked_at_ < (hurried_ ? kBetweenHurriedChecks : kBetweenChecks)) return;
  checked_at_ = now;
  hurried_ = false;
  const bool whole = ++rounds_ % kRoundsBetweenTraces == 0;
  std::vector<KnownPaths::Watched> paths = paths_.watched(rounds_);
  // Where only some of them can be checked, others are next time.
  if (!paths.empty()) {
    std::rotate(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(rounds_ % paths.size()),
                paths.end());
  }
  for (const KnownPaths::Watched& path : paths) {
    if (!routers_.take_turn(path.last_router, now)) continue;
    enqueue({.between = path.between,
             .port = path.port,
             .purpose = whole && !path.lost ? Purpose::kAgain : Purpose::kCheck});
  }
}

void PathProber::expire(Moment now) {
  look_after_paths(now);
  std::vector<Trace> due;
  std::erase_if(running_, [&](Trace& trace) {
    if (trace.deadline > now) return false;
    due.push_back(std::move(trace));
    return true;
  });
  for (Trace& trace : due) {
    if (silence_at(trace, now)) {
      running_.push_back(std::move(trace));
    } else {
      end(trace);
    }
  }
  begin(now);
}

PathProber::Moment PathProber::next_deadline() const {
  Moment earliest = checked_at_ + (hurried_ ? kBetweenHurriedChecks : kBetweenChecks);
  for (const Trace& trace : running_) earliest = std::min(earliest, trace.deadline);
  return earliest;
}

std::vector<controller::MeasuredPath> PathProber::take_measured(std::size_t most) {
  return paths_.take_news(most);
}

}  // namespace nerve::cli
