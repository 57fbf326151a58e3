#include "tests/dst/cm_world.h"

#include <memory>
#include <optional>

#include "tests/dst/cm_host.h"

namespace nerve::dst {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

Faults draw_faults(Prng& prng) {
  Faults faults;
  const auto draw = [&](std::uint64_t most) {
    return static_cast<std::uint32_t>(prng.between(0, most));
  };
  faults.delay = microseconds{prng.between(1, 100)};
  faults.jitter = prng.chance(500) ? Duration{microseconds{prng.between(1, 100)}} : Duration{};
  if (prng.chance(300)) return faults;
  faults.loss = prng.chance(700) ? draw(400) : 0;
  faults.duplication = prng.chance(600) ? draw(300) : 0;
  faults.reordering = prng.chance(500) ? draw(300) : 0;
  if (prng.chance(100)) {
    faults.blackout_from = Time{Duration{microseconds{prng.between(0, 500'000)}}};
    faults.blackout_until = faults.blackout_from + microseconds{prng.between(1'000, 2'000'000)};
  }
  return faults;
}

CmHabits draw_habits(Prng& prng) {
  return {.response_timeout = static_cast<std::uint8_t>(prng.between(10, 17)),
          .max_retries = static_cast<std::uint8_t>(prng.between(3, 15)),
          // Longer than any packet is in flight: ten times 200 us.
          .ack_timeout = static_cast<std::uint8_t>(prng.between(10, 14)),
          .backlog = prng.chance(200) ? 1U : 1000U,
          .slow = prng.chance(150),
          .forgets = prng.chance(500),
          .reuses_qpns = prng.chance(300)};
}

}  // namespace

Outcome run_connections(std::uint64_t seed, const Options& options) {
  Prng prng{seed};
  Journal journal{options.trace};
  EventQueue events;
  Network network{events, journal, prng.next(), draw_faults(prng), options.carriage};
  CmLedger ledger{prng.next()};
  CmHabits habits = draw_habits(prng);
  habits.stranger = options.stranger;
  habits.lasts = seed % 4 == 0;
  std::optional<CmStranger> stranger;
  if (options.stranger) {
    stranger.emplace(seed, network);
    network.set_tap(
        [&](std::size_t, std::size_t to, const Parcel& parcel) { stranger->see(to, parcel); });
  }
  std::vector<std::unique_ptr<CmHost>> hosts;
  const std::size_t count = prng.between(2, 6);
  for (std::size_t i = 0; i < count; ++i) {
    nic::NicConfig config;
    config.key_secret = {prng.next(), prng.next()};
    config.guid = 0x1000 + i;
    config.first_comm_id = static_cast<std::uint32_t>(i) << nic::kCommIdBits;
    config.begin_comm_ids_at = static_cast<std::uint32_t>(prng.next());
    config.scatter_numbers = options.scatter;
    // Few QPs: connections that their peer does not confirm give way to requests. Derived from a
    // number that was drawn already, which keeps the history of seeds.
    if (config.key_secret[0] % 2 == 0) {
      config.limits.max_qp = static_cast<std::uint32_t>(1 + config.key_secret[1] % 16);
    }
    hosts.push_back(
        std::make_unique<CmHost>(i, habits, config, prng.next(), events, network, journal, ledger));
  }
  const std::uint64_t attempts = prng.between(1, 40);
  for (std::uint64_t i = 0; i < attempts; ++i) {
    const std::size_t from = prng.below(count);
    const std::size_t to = prng.below(count);  // occasionally itself
    const bool resolves = prng.chance(150);
    const std::uint64_t when = prng.below(1'000'000) * (habits.lasts ? 10 : 1);
    events.at(Time{Duration{microseconds{when}}}, [&hosts, from, to, resolves] {
      resolves ? hosts[from]->resolve(to) : hosts[from]->connect(to);
    });
  }
  const Time limit{Duration{seconds{3600}}};
  while (journal.violations().empty() && events.step(limit)) {
  }
  if (!events.empty() && journal.violations().empty()) {
    journal.violation(events.now(), "it does not come to rest");
  }
  for (const auto& host : hosts) host->stop_listening();
  while (journal.violations().empty() && events.step(limit)) {
  }
  if (journal.violations().empty()) {
    for (const auto& host : hosts) host->judge_end();
  }
  return {.violations = journal.violations(),
          .history = journal.hash(),
          .frames = network.counts().sent};
}

}  // namespace nerve::dst
