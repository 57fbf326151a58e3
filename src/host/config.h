// Placeholder until configuration comes.
#pragma once

#include <cstdint>

namespace nerve::host {

enum class Transport : std::uint8_t { kAuto, kShm, kUdp };

struct Config {
  Transport transport{Transport::kAuto};
};

}  // namespace nerve::host
