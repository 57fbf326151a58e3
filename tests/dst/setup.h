// What a seed draws before a world is created: the network's faults, the engines, the clock.
#pragma once

#include "base/prng.h"
#include "base/time.h"
#include "nic/config.h"
#include "tests/dst/limits.h"
#include "tests/dst/network.h"
#include "tests/dst/twists.h"

namespace nerve::dst {

[[nodiscard]] Faults draw_faults(Prng& prng);
// The faults without those that the limits exclude.
[[nodiscard]] Faults within(const Limits& limits, Faults faults);
[[nodiscard]] nic::NicConfig draw_config(Prng& prng, Recovery recovery, const Twists& twists);
// The time at which the world begins.
[[nodiscard]] Time begin_of(Twists::Clock clock, Prng& prng);

}  // namespace nerve::dst
