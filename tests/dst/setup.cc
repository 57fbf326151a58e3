#include "tests/dst/setup.h"

namespace nerve::dst {

using std::chrono::microseconds;

Faults draw_faults(Prng& prng) {
  Faults faults;
  const auto draw = [&](std::uint64_t most) {
    return static_cast<std::uint32_t>(prng.between(0, most));
  };
  faults.delay = microseconds{prng.between(1, 20)};
  faults.jitter = prng.chance(500) ? Duration{microseconds{prng.between(1, 5)}} : Duration{};
  faults.marking = prng.chance(300) ? draw(300) : 0;
  faults.outage = prng.chance(60);
  if (prng.chance(300)) return faults;  // a good network: nothing may fail by chance
  faults.loss = prng.chance(700) ? draw(60) : 0;
  faults.duplication = prng.chance(500) ? draw(60) : 0;
  faults.reordering = prng.chance(500) ? draw(80) : 0;
  faults.corruption = prng.chance(400) ? draw(40) : 0;
  if (prng.chance(100)) {
    faults.blackout_from = Time{Duration{microseconds{prng.between(0, 500)}}};
    faults.blackout_until = faults.blackout_from + microseconds{prng.between(50, 5'000)};
  }
  return faults;
}

// The draws stay the same; excluded faults do not happen.
Faults within(const Limits& limits, Faults faults) {
  if (limits.off(Part::kLoss)) faults.loss = 0;
  if (limits.off(Part::kDuplication)) faults.duplication = 0;
  if (limits.off(Part::kReordering)) faults.reordering = 0;
  if (limits.off(Part::kCorruption)) faults.corruption = 0;
  if (limits.off(Part::kMarking)) faults.marking = 0;
  if (limits.off(Part::kJitter)) faults.jitter = {};
  if (limits.off(Part::kBlackout)) faults.blackout_from = faults.blackout_until = {};
  if (limits.off(Part::kOutage)) faults.outage = false;
  return faults;
}

nic::NicConfig draw_config(Prng& prng, Recovery recovery, const Twists& twists) {
  nic::NicConfig config;
  config.key_secret = {prng.next(), prng.next()};
  config.first_qpn = Qpn{static_cast<std::uint32_t>(prng.between(2, 0xf0'0000))};
  config.flow_control.algorithm =
      prng.chance(300) ? nic::CcAlgorithm::kDcqcn : nic::CcAlgorithm::kNone;
  config.flow_control.announce_credits = prng.chance(700);
  config.flow_control.heed_credits = prng.chance(700);
  // Derived from a number that was drawn already, which keeps the history of seeds.
  config.flow_control.shrink_on_loss = config.first_qpn.value() % 2 == 0;
  config.max_outstanding_packets =
      static_cast<std::uint32_t>(prng.chance(300) ? prng.between(2, 16) : 4096);
  if (prng.chance(300)) {
    config.max_read_packets = static_cast<std::uint32_t>(prng.between(1, 16));
  }
  config.scheduling_quantum = static_cast<std::uint32_t>(prng.between(1, 64));
  // Likewise derived from a number that was drawn already.
  const bool credits = recovery == Recovery::kReceiverCredits;
  const bool ultra = credits || recovery == Recovery::kTrimming;
  config.selective_repeat.on = ultra || recovery == Recovery::kSelective;
  if (ultra) {
    config.ultra_ethernet = {.entropies = 16,
                             .trimming = true,
                             .receiver_credits = credits,
                             .unsolicited_packets = 1 + config.first_qpn.value() % 8};
    if (config.first_qpn.value() % 5 < 2) {
      config.flow_control.algorithm = nic::CcAlgorithm::kNscc;
      config.flow_control.ack_every = 1;
    }
  }
  if (recovery == Recovery::kMixed) {
    config.selective_repeat.offer = config.first_qpn.value() / 7 % 4 != 0;
    config.tail_probe.on = config.first_qpn.value() / 28 % 4 != 0;
    config.tail_probe.min_interval = microseconds{1U << (config.first_qpn.value() / 112 % 9)};
    config.tail_probe.first_interval = 4 * config.tail_probe.min_interval;
  }
  if (config.first_qpn.value() % 3 == 0) {
    config.selective_repeat.reorder_window = config.first_qpn.value() / 3 % 8;
    config.selective_repeat.reorder_timeout = microseconds{config.first_qpn.value() % 50};
  }
  // Room for both ends of each connection and for the datagrams.
  if (twists.hasty_lives) config.limits.max_qp = 12;
  return config;
}

Time begin_of(Twists::Clock clock, Prng& prng) {
  switch (clock) {
    case Twists::Clock::kZero:
      break;
    case Twists::Clock::kBeforeWrap:
      return Time{} - microseconds{prng.between(0, 1'000)};
    case Twists::Clock::kLate:
      return Time{} + std::chrono::days{55} + std::chrono::days{55};
  }
  return {};
}

}  // namespace nerve::dst
