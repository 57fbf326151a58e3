// Two sessions and an attacker on the path between them, all from one seed. He loses, delays,
// repeats, changes and makes up packets, and has recorded an earlier session of the same QPs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nerve::seal {

// What should not have happened.
[[nodiscard]] std::vector<std::string> run_hostile_world(std::uint64_t seed);

}  // namespace nerve::seal
