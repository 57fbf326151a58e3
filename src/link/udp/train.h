// Trains: packets of one flow that the kernel can segment from one message, because all have the
// same size except the last, which may be shorter.
#pragma once

#include <cstddef>
#include <span>

#include "wire/frame.h"

namespace nerve::link {

// The limit of every kernel with UDP_SEGMENT; newer ones accept twice as many.
inline constexpr std::size_t kMaxTrainPackets = 64;

struct Train {
  std::size_t packets{};
  std::size_t segment{};  // UDP payload of each packet except the last
  std::size_t bytes{};    // total
};

// The longest train at the beginning of `frames`, which must not be empty. Flows and sizes are
// compared here instead of using Frame::continues_train, because a tap may have removed a frame
// from the burst, and because ACKs of one flow form trains too without being marked.
// Each packet takes `extra` bytes more than as it is.
[[nodiscard]] Train next_train(std::span<const wire::Frame> frames, std::size_t max_packets,
                               std::size_t extra = 0);

}  // namespace nerve::link
