// Trains: packets of one flow that a kernel can cut from one message, because all have one size but
// for the last, which may be shorter.
#pragma once

#include <cstddef>
#include <span>

#include "wire/frame.h"

namespace nerve::link {

// Every kernel with UDP_SEGMENT takes this many; newer ones take twice as many.
inline constexpr std::size_t kMaxTrainPackets = 64;

struct Train {
  std::size_t packets{};
  std::size_t segment{};  // bytes of UDP payload of each packet but the last
  std::size_t bytes{};    // of all of them
};

// The longest train that `frames`, of which there is at least one, begin with. Flows and sizes are
// compared here: the engine's word (Frame::continues_train) does not hold once a tap has taken a
// frame out of a burst, and ACKs of one flow make trains too though nobody says so.
[[nodiscard]] Train next_train(std::span<const wire::Frame> frames, std::size_t max_packets);

}  // namespace nerve::link
