#include "tests/dst/twists.h"

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
  }
  return twists;
}

}  // namespace nerve::dst
