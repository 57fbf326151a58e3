#include "tests/dst/world.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>

#include "tests/dst/connection.h"
#include "tests/dst/datagrams.h"
#include "tests/dst/host.h"
#include "tests/dst/late_path.h"
#include "tests/dst/network.h"
#include "tests/dst/registry.h"
#include "tests/dst/setup.h"
#include "tests/dst/stranger.h"
#include "tests/dst/wire_watch.h"

namespace nerve::dst {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class World {
 public:
  World(std::uint64_t seed, const Options& options)
      : prng_{seed},
        twists_{options.twists ? *options.twists : draw_twists(options.family, seed)},
        twist_prng_{seed ^ 0x7715'7111U},
        limits_{options.limits},
        journal_{options.trace, options.story},
        network_{events_, journal_, prng_.next(), drawn_ = draw_faults(prng_), options.carriage},
        watch_{events_, journal_, network_},
        registry_{events_, journal_} {
    if (trims(options.recovery)) {
      drawn_.trimming = 30 + static_cast<std::uint32_t>(seed % 200);
      network_.set_faults(drawn_);
    }
    if (options.stranger) stranger_.emplace(seed, network_);
    network_.set_tap([this](std::size_t from, std::size_t to, const Parcel& parcel) {
      watch_.see(from, to, parcel);
      if (stranger_) stranger_->see(to, parcel);
    });
    // A receive of an SRQ is taken before its completion, by as much as the memory is late; the
    // exact moment of a limit event is unknown then.
    if (options.late_memory) twists_.srq_limits = false;
    events_.begin_at(begin_of(twists_.clock, twist_prng_));
    const bool large = prng_.chance(50);
    make_hosts(large, options);
    make_counter();
    make_common_receives(large);
    if (twists_.xrc_targets) make_xrc_receives(large);
    make_connections(large);
    if (twists_.rnr_storm) make_storm();
    if (twists_.crowded_cq) make_crowd();
    make_datagrams(nic::QpType::kUd, 250);
    make_datagrams(nic::QpType::kGsi, 100);
    if (drawn_.outage && !limits_.off(Part::kOutage)) plan_outage();
    network_.set_faults(within(limits_, drawn_));
    plan_jumps();
  }
  ~World() {
    while (!hosts_.empty()) hosts_.pop_back();  // the first owns what its siblings use
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Outcome run() {
    for (const auto& connection : connections_) connection->start();
    for (const auto& datagrams : datagrams_) datagrams->start();
    const Duration limit{seconds{60}};
    while (!finished() && journal_.violations().size() < 4) {
      if (!events_.step(events_.at_age(limit))) {
        report_stuck();
        break;
      }
    }
    for (const auto& host : hosts_) host->poll_all();
    if (finished()) check_memory();
    if (stranger_) check_stranger();
    return {journal_.violations(), journal_.hash(),  network_.counts().sent,
            drawn_connections_,    journal_.story(), watch_.wrapped()};
  }

 private:
  void make_hosts(bool large, const Options& options);
  void make_counter();
  void make_common_receives(bool large);
  [[nodiscard]] Connection::Surroundings surroundings() {
    return {events_, journal_, network_, registry_, watch_, &counter_, commons_, twists_};
  }
  void make_xrc_receives(bool large);
  void make_connections(bool large);
  void make_storm();
  void make_crowd();
  void add_to_first_host(const Terms& terms, std::uint32_t requests, std::uint32_t lives);
  void make_datagrams(nic::QpType type, std::uint32_t per_mille);
  void plan_outage();
  void plan_jumps();
  bool completed(Host& host, const nic::Completion& completion);
  [[nodiscard]] bool finished() const {
    return std::ranges::all_of(datagrams_, [](const auto& d) { return d->finished(); }) &&
           std::ranges::all_of(connections_, [](const auto& c) { return c->finished(); });
  }
  void report_stuck() {
    for (const auto& connection : connections_) {
      if (connection->finished()) continue;
      journal_.violation(events_.now(), "stuck for ever: " + connection->describe());
    }
  }
  void check_memory();
  void check_counter();
  void check_stranger();

  Prng prng_;
  Twists twists_;
  Prng twist_prng_;
  Limits limits_;
  Faults drawn_;
  std::uint32_t drawn_connections_{};
  EventQueue events_;
  Journal journal_;
  Network network_;
  WireWatch watch_;
  Registry registry_;
  std::optional<Stranger> stranger_;
  std::deque<LateStore> stores_;
  std::deque<LatePath> paths_;
  std::vector<LatePath*> all_paths_;
  std::vector<std::unique_ptr<Host>> hosts_;
  SharedCounter counter_;
  std::vector<CommonReceives> commons_;  // by host
  std::uint32_t common_capacity_{};
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Datagrams>> datagrams_;
};

void World::make_hosts(bool large, const Options& options) {
  const std::uint64_t count = prng_.chance(700) ? 2 : prng_.between(2, prng_.chance(800) ? 4 : 8);
  std::size_t zone_size = std::size_t{1} << (large ? 20U : 17U);
  if (count > 4) zone_size /= 4;  // with many hosts, each sends little
  const bool ipv6 = prng_.chance(300);
  for (std::size_t i = 0; i < count; ++i) {
    const auto last = static_cast<std::uint8_t>(i + 1);
    wire::Gid gid = wire::Gid::ipv4(10, 0, 0, last);
    if (ipv6) {
      gid = {};
      gid.bytes[0] = std::byte{0xfd};
      gid.bytes[15] = std::byte{last};
    }
    const Host::Habits habits{
        .listening = prng_.chance(400)   ? Host::Listening::kWaits
                     : prng_.chance(250) ? Host::Listening::kSolicited
                                         : Host::Listening::kPolls,
        .one_cq = prng_.chance(250) || (twists_.crowded_cq && i == 0),
        .polls_seldom = twists_.crowded_cq && i == 0,
        .tunes_cqs = prng_.chance(300),
        .burst = static_cast<std::uint32_t>(prng_.between(1, 64)),
        .receive_burst = static_cast<std::uint32_t>(prng_.between(1, 32)),
        .interrupt_delay = prng_.chance(500) ? Duration{} : Duration{microseconds{2}}};
    nic::NicConfig config = draw_config(prng_, options.recovery, twists_);
    nic::Nic* const sibling = options.siblings && i > 0 ? &hosts_[0]->nic() : nullptr;
    if (options.late_memory && sibling == nullptr) stores_.emplace_back(i, events_);
    LateStore* const late = options.late_memory ? &stores_.back() : nullptr;
    nic::NicHooks hooks{.late_memory = late};
    config.scatter_numbers = options.scatter;
    if (options.stranger) config.flow_control.max_cnp_burst = Stranger::kCnpBurst;
    if (options.late_copies) {
      paths_.emplace_back(gid, *late, all_paths_, prng_.next());
      hooks.direct_path = &paths_.back();
    }
    hosts_.push_back(std::make_unique<Host>(i, config, hooks, sibling, late, gid, habits,
                                            prng_.next(), zone_size, events_, network_, journal_));
    hosts_.back()->on_completion(
        [this](Host& host, nic::CqHandle, const nic::Completion& c) { return completed(host, c); });
    hosts_.back()->on_polled([this](Host& host) { registry_.polled(host); });
    hosts_.back()->on_event(
        [this](Host& host, const nic::Event& event) { registry_.event(host, event); });
  }
}

bool World::completed(Host& host, const nic::Completion& completion) {
  if (!Datagrams::owns(completion.wr_id)) return registry_.completed(host, completion);
  for (const auto& datagrams : datagrams_) {
    if (datagrams->type() == Datagrams::type_of(completion.wr_id)) datagrams->completed(completion);
  }
  return false;
}

void World::make_counter() {
  MemoryModel& memory = hosts_[0]->memory();
  const auto at = memory.take(MemoryModel::kOpen, 8, 8, prng_);
  CHECK(at.has_value());
  counter_ = {.memory = &memory, .offset = *at};
  memory.store(*at, std::vector<std::byte>(8));
}

// Some hosts have one receive queue for most connections.
void World::make_common_receives(bool large) {
  commons_.resize(hosts_.size());
  common_capacity_ = static_cast<std::uint32_t>(prng_.between(1, large ? 20'000 : 1500));
  if (twists_.short_receives || twists_.rnr_storm) {
    common_capacity_ = static_cast<std::uint32_t>(prng_.between(1, 200));
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const bool forced = twists_.srq_limits || (twists_.rnr_storm && i == 0);
    if (!prng_.chance(forced ? 1000 : 300)) continue;
    Host& host = *hosts_[i];
    Terms terms = draw_terms(prng_, network_.faults(), large);
    terms.receive_capacity = common_capacity_;
    terms.caps.max_recv_wr = static_cast<std::uint32_t>(prng_.between(2, 16));
    if (twists_.rnr_storm && i == 0) {
      terms.caps.max_recv_wr = static_cast<std::uint32_t>(prng_.between(1, 3));
      terms.late_receives = true;
    }
    commons_[i].basic = make_source(surroundings(), host, terms, {.pd = host.pd()}, prng_);
  }
}

// Each host has an XRC domain with a few SRQs, which complete on one CQ.
void World::make_xrc_receives(bool large) {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = *hosts_[i];
    CommonReceives& common = commons_[i];
    common.xrcd = *host.nic().alloc_xrcd();
    constexpr std::uint32_t kDepth = 16;
    constexpr std::uint32_t kMayBeLost = 64;  // receives lost with their QPs
    const std::uint64_t count = prng_.between(2, 4);
    common.xrc_cq = host.create_cq(static_cast<std::uint32_t>(count) * (kDepth + kMayBeLost));
    for (std::uint64_t k = 0; k < count; ++k) {
      Terms terms = draw_terms(prng_, network_.faults(), large);
      terms.receive_capacity = common_capacity_;
      terms.caps.max_recv_wr = static_cast<std::uint32_t>(prng_.between(1, kDepth));
      common.xrc.push_back(make_source(
          surroundings(), host, terms,
          {.pd = host.pd(), .type = nic::SrqType::kXrc, .xrcd = common.xrcd, .cq = common.xrc_cq},
          prng_));
    }
  }
}

void World::make_connections(bool large) {
  const std::uint64_t count = prng_.between(1, large ? 2 : 4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t a = prng_.below(hosts_.size());
    const std::size_t step = prng_.chance(950) ? prng_.between(1, hosts_.size() - 1) : 0;
    const std::size_t b = (a + step) % hosts_.size();
    Terms terms = draw_terms(prng_, network_.faults(), large);
    if (twists_.xrc_targets && prng_.chance(700)) {
      terms.type = nic::QpType::kXrcSend;
      terms.shared_receives = true;
      terms.common_receives = false;
      terms.rate_limit = {};
    }
    const bool joins = terms.common_receives && (commons_[a].basic.srq || commons_[b].basic.srq);
    if (joins || twists_.xrc_targets) terms.receive_capacity = common_capacity_;
    const auto requests = static_cast<std::uint32_t>(prng_.between(1, large ? 16 : 60));
    const std::uint64_t most_lives = twists_.hasty_lives ? 12 : 4;
    const auto lives = static_cast<std::uint32_t>(prng_.between(1, most_lives));
    const std::uint64_t seed = prng_.next();
    ++drawn_connections_;
    if (limits_.without_connection(i)) continue;
    twist(terms, twists_, twist_prng_);
    if (limits_.off(Part::kDisturbance)) terms.disturbance_per_mille = 0;
    connections_.push_back(std::make_unique<Connection>(surroundings(), *hosts_[a], *hosts_[b],
                                                        terms, std::min(requests, limits_.requests),
                                                        std::min(lives, limits_.lives), seed));
  }
}

// Many senders to one host, which posts few receives, and late.
void World::make_storm() {
  const std::uint64_t senders = prng_.between(6, 16);
  for (std::uint64_t i = 0; i < senders; ++i) {
    Terms terms = draw_terms(prng_, network_.faults(), /*large=*/false);
    terms.type = nic::QpType::kRc;
    terms.shared_receives = false;
    terms.common_receives = terms.late_receives = true;
    terms.receive_capacity = common_capacity_;
    terms.rnr_timer = static_cast<std::uint8_t>(prng_.between(1, 10));
    terms.rnr_retry = static_cast<std::uint8_t>(prng_.chance(500) ? 7 : prng_.below(7));
    twist(terms, twists_, twist_prng_);
    terms.send_per_mille = 800;
    add_to_first_host(terms, static_cast<std::uint32_t>(prng_.between(5, 20)), 1);
  }
}

// Many QPs with short queues, all of which complete on one CQ of the first host.
void World::make_crowd() {
  const std::uint64_t qps = prng_.between(20, 40);
  for (std::uint64_t i = 0; i < qps; ++i) {
    Terms terms = draw_terms(prng_, network_.faults(), /*large=*/false);
    if (terms.type == nic::QpType::kXrcSend) terms.type = nic::QpType::kRc;
    terms.shared_receives = terms.common_receives = false;
    terms.caps.max_send_wr = static_cast<std::uint32_t>(prng_.between(2, 4));
    terms.caps.max_recv_wr = static_cast<std::uint32_t>(prng_.between(1, 2));
    terms.receive_capacity = std::min(terms.receive_capacity, 200U);
    terms.largest_message = std::min(terms.largest_message, 600U);
    twist(terms, twists_, twist_prng_);
    terms.disturbance_per_mille = 500;
    add_to_first_host(terms, static_cast<std::uint32_t>(prng_.between(2, 8)), 2);
  }
}

void World::add_to_first_host(const Terms& terms, std::uint32_t requests, std::uint32_t lives) {
  const std::size_t from = prng_.between(1, hosts_.size() - 1);
  const std::uint64_t seed = prng_.next();
  const std::uint32_t number = drawn_connections_++;
  if (limits_.without_connection(number)) return;
  connections_.push_back(std::make_unique<Connection>(surroundings(), *hosts_[from], *hosts_[0],
                                                      terms, std::min(requests, limits_.requests),
                                                      std::min(lives, limits_.lives), seed));
}

void World::make_datagrams(nic::QpType type, std::uint32_t per_mille) {
  const bool shared = twists_.datagram_srqs && type == nic::QpType::kUd;
  if (!prng_.chance(shared ? 1000 : per_mille)) return;
  const auto count = static_cast<std::uint32_t>(prng_.between(1, 40));
  const std::uint64_t seed = prng_.next();
  if (limits_.off(Part::kDatagrams)) return;
  datagrams_.push_back(
      std::make_unique<Datagrams>(type, shared, events_, journal_, network_, hosts_, count, seed));
}

// One port goes down for a while: arriving frames are lost, outgoing ones wait.
void World::plan_outage() {
  Host& host = *hosts_[prng_.below(hosts_.size())];
  const Time from{Duration{microseconds{prng_.between(0, 500)}}};
  const Time until = from + microseconds{prng_.between(10, 10'000)};
  events_.at(from, [&host] { host.set_port(false); });
  events_.at(until, [&host] { host.set_port(true); });
}

void World::plan_jumps() {
  constexpr Duration kJumps[] = {Duration{},  milliseconds{1},       milliseconds{70},
                                 seconds{10}, std::chrono::hours{1}, std::chrono::days{15}};
  for (std::uint32_t i = 0; i < twists_.clock_jumps; ++i) {
    const Duration by = kJumps[twist_prng_.below(std::size(kJumps))];
    events_.after(microseconds{twist_prng_.between(0, 1'000)}, [this, by] { events_.jump(by); });
  }
}

void World::check_memory() {
  check_counter();
  for (const auto& host : hosts_) {
    if (const std::string wrong = host->memory().verify(); !wrong.empty()) {
      journal_.violation(events_.now(), "host " + std::to_string(host->index()) + ": " + wrong);
    }
  }
}

// Every addition happened once or, if it was not acknowledged, at most once; and each returned a
// value that no other returned.
void World::check_counter() {
  std::uint64_t value = 0;
  std::memcpy(&value, counter_.memory->actual(counter_.offset, 8).data(), 8);
  if (value < counter_.certain || value > counter_.certain + counter_.possible) {
    journal_.violation(events_.now(), "the shared counter is " + std::to_string(value) + " after " +
                                          std::to_string(counter_.certain) + " additions and " +
                                          std::to_string(counter_.possible) + " possible ones");
  }
  std::vector<std::uint64_t> found = counter_.returned;
  std::ranges::sort(found);
  if (std::ranges::adjacent_find(found) != found.end() ||
      (!found.empty() && found.back() >= value)) {
    journal_.violation(events_.now(), "additions to the shared counter found the same value");
  }
  counter_.memory->expect(counter_.offset, counter_.memory->actual(counter_.offset, 8));
}

// What a stranger forged had no effect: no gap was reported on a network that loses nothing (unless
// a host refused packets for lack of receives), and no host heeded more CNPs than peers may have
// sent.
void World::check_stranger() {
  std::uint64_t genuine = 0;
  for (const auto& host : hosts_) genuine += host->nic().counters().cnps_sent;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const nic::Counters& counters = hosts_[i]->nic().counters();
    const bool gapless = !network_.faults().any() && counters.rnr_naks_sent == 0;
    if (gapless && counters.sequence_naks_sent > 0) {
      journal_.violation(events_.now(), "host " + std::to_string(i) + " reports a gap of nothing");
    }
    const auto& flow_control = hosts_[i]->nic().config().flow_control;
    if (flow_control.algorithm == nic::CcAlgorithm::kNone) continue;
    const std::uint64_t heeded = counters.cnps_received - counters.cnps_ignored;
    if (heeded > 2 * genuine + stranger_->storms(i) * (flow_control.max_cnp_burst + 1)) {
      journal_.violation(events_.now(), "host " + std::to_string(i) + " heeds " +
                                            std::to_string(heeded) + " CNPs");
    }
  }
}

}  // namespace

Outcome run_seed(std::uint64_t seed, const Options& options) { return World{seed, options}.run(); }

}  // namespace nerve::dst
