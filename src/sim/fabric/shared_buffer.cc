#include "sim/fabric/shared_buffer.h"

#include <algorithm>
#include <bit>

namespace nerve::sim {

SharedBuffer::SharedBuffer(const BufferConfig& config, const std::vector<std::uint32_t>& headroom)
    : config_{config}, headroom_{headroom}, ingress_(headroom.size() * kClasses) {
  const auto classes = static_cast<std::uint64_t>(std::popcount(config.lossless));
  std::uint64_t kept = 0;
  for (const std::uint32_t one : headroom) kept += (one + config.reserve) * classes;
  // The scenario reader rejects configurations that reserve more than the memory.
  shareable_ = config.bytes > kept ? config.bytes - kept : 0;
}

bool SharedBuffer::admit(std::uint32_t port, unsigned traffic_class, std::uint32_t bytes,
                         std::uint64_t queued) {
  if (!is_lossless(traffic_class)) {
    if (shared_ + bytes > shareable_ || queued + bytes > share_of_free(config_.drop_at)) {
      return false;
    }
    shared_ += bytes;
    used_ += bytes;
    return true;
  }
  Ingress& in = at(port, traffic_class);
  const std::uint32_t held = in.held + bytes;
  const std::uint32_t beyond = held > config_.reserve ? held - config_.reserve : 0;
  if (beyond <= share_of_free(config_.pause_at)) {
    shared_ += beyond - shared_of(in);
    in.held = held;
  } else if (in.headroom + bytes <= headroom_[port]) {
    in.headroom += bytes;
  } else {
    return false;
  }
  used_ += bytes;
  return true;
}

void SharedBuffer::release(std::uint32_t port, unsigned traffic_class, std::uint32_t bytes) {
  CHECK(used_ >= bytes);
  used_ -= bytes;
  if (!is_lossless(traffic_class)) {
    shared_ -= bytes;
    return;
  }
  // Frees headroom first, so that all of it is available for the next pause.
  Ingress& in = at(port, traffic_class);
  const std::uint32_t from_headroom = std::min(in.headroom, bytes);
  in.headroom -= from_headroom;
  const std::uint32_t before = shared_of(in);
  CHECK(in.held >= bytes - from_headroom);
  in.held -= bytes - from_headroom;
  shared_ -= before - shared_of(in);
}

bool SharedBuffer::begin_pause(std::uint32_t port, unsigned traffic_class) {
  if (!is_lossless(traffic_class)) return false;
  Ingress& in = at(port, traffic_class);
  if (in.paused) return false;
  const std::uint32_t shared = shared_of(in);
  in.paused = in.headroom > 0 || (shared > 0 && shared >= share_of_free(config_.pause_at));
  return in.paused;
}

bool SharedBuffer::end_pause(std::uint32_t port, unsigned traffic_class) {
  Ingress& in = at(port, traffic_class);
  if (!in.paused || in.headroom > 0) return false;
  const std::uint32_t shared = shared_of(in);
  if (shared > 0 && shared + config_.resume_below > share_of_free(config_.pause_at)) return false;
  in.paused = false;
  return true;
}

}  // namespace nerve::sim
