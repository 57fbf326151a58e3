#include "link/udp/train.h"

#include "link/udp/outbox.h"
#include "wire/packet.h"

namespace nerve::link {

Train next_train(std::span<const wire::Frame> frames, std::size_t max_packets, std::size_t extra) {
  Train train{.packets = 1, .segment = wire::udp_payload_size(frames.front()) + extra, .bytes{}};
  train.bytes = train.segment;
  for (const wire::Frame& frame : frames.subspan(1)) {
    if (train.packets == max_packets) break;
    const std::size_t size = wire::udp_payload_size(frame) + extra;
    if (size > train.segment || train.bytes + size > Outbox::kMaxBytes) break;
    if (!(frame.flow == frames.front().flow)) break;
    ++train.packets;
    train.bytes += size;
    if (size < train.segment) break;  // only the last packet may be shorter
  }
  return train;
}

}  // namespace nerve::link
