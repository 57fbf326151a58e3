#include "tests/dst/twists.h"

#include <algorithm>

#include "base/prng.h"

namespace nerve::dst {

Twists draw_twists(Family family, std::uint64_t seed) {
  Prng prng{seed ^ 0x7715'7000U ^ static_cast<std::uint64_t>(family) << 48U};
  Twists twists;
  if (family == Family::kLives) {
    twists.hasty_lives = prng.chance(400);
    twists.any_retries = prng.chance(300);
    twists.other_mtus = prng.chance(400);
    twists.wraps = !twists.hasty_lives && prng.chance(600);
    if (prng.chance(200)) twists.clock_jumps = static_cast<std::uint32_t>(prng.between(1, 3));
    if (prng.chance(200)) twists.clock = static_cast<Twists::Clock>(prng.between(1, 2));
  }
  if (family == Family::kMemory) {
    twists.window_atomics = prng.chance(800);
    twists.regions_vanish = !twists.window_atomics || prng.chance(500);
  }
  if (family == Family::kReceives) {
    twists.neglected_cqs = prng.chance(350);
    twists.srq_limits = !twists.neglected_cqs && prng.chance(700);
    twists.short_receives = twists.srq_limits && prng.chance(700);
    twists.rnr_storm = !twists.neglected_cqs && prng.chance(300);
    twists.datagram_srqs = prng.chance(300);
    twists.xrc_targets = !twists.neglected_cqs && prng.chance(250);
    twists.crowded_cq = !twists.neglected_cqs && !twists.rnr_storm && prng.chance(120);
  }
  return twists;
}

void twist(Terms& terms, const Twists& twists, Prng& prng) {
  // Lives end with work in progress, so that many packets outlive them.
  if (twists.hasty_lives) terms.disturbance_per_mille = 900;
  if (twists.any_retries) {
    terms.retry_count = static_cast<std::uint8_t>(prng.below(8));
    const std::uint64_t kind = prng.below(4);
    const std::uint64_t timeout = kind == 0   ? 0
                                  : kind == 1 ? prng.between(1, 7)
                                              : prng.between(8, 15);
    terms.timeout = static_cast<std::uint8_t>(timeout);
  }
  terms.wraps = twists.wraps;
  // A response that is never retransmitted is detected only where retries do not run out.
  if (twists.wraps && !twists.any_retries) terms.retry_count = 7;
  terms.neglects_cq = twists.neglected_cqs && prng.chance(700);
  if (terms.neglects_cq) terms.signaled_per_mille = 1000;
  if (twists.short_receives) {
    // A single packet, no longer than the receive.
    terms.receive_capacity = std::min(terms.receive_capacity, 200U);
    terms.bad_request_per_mille = 0;
  }
  const bool reliable = terms.type != nic::QpType::kUc;
  terms.regions_vanish = twists.regions_vanish && reliable;
  terms.window_atomics =
      (twists.window_atomics || twists.regions_vanish) && terms.type == nic::QpType::kRc;
}

}  // namespace nerve::dst
