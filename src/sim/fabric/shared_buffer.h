// The packet memory of one Ethernet switch: admission of packets and PFC thresholds.
//
// All ports share it. A lossless class is accounted at the ingress port: each port and class has a
// small reserve, then a share of the free memory (a dynamic threshold, which shrinks as the switch
// fills), and beyond that its headroom, reserved for the bytes in flight when the pause is sent. A
// lossy class is accounted at the egress queue and dropped above its threshold.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/fetch_lines.h"
#include "sim/core/packet.h"
#include "sim/scenario/switch_spec.h"

namespace nerve::sim {

class SharedBuffer {
 public:
  // `headroom`: bytes per port.
  SharedBuffer(const BufferConfig& config, const std::vector<std::uint32_t>& headroom);

  // Admits a packet if there is room. `queued` is the length of its egress queue in bytes.
  [[nodiscard]] bool admit(std::uint32_t port, unsigned traffic_class, std::uint32_t bytes,
                           std::uint64_t queued);
  void release(std::uint32_t port, unsigned traffic_class, std::uint32_t bytes);

  // Each returns true once per transition; the caller then sends the pause or the resume.
  [[nodiscard]] bool begin_pause(std::uint32_t port, unsigned traffic_class);
  [[nodiscard]] bool end_pause(std::uint32_t port, unsigned traffic_class);

  // Whether the upstream sender is paused.
  [[nodiscard]] bool pauses(std::uint32_t port, unsigned traffic_class) {
    return at(port, traffic_class).paused;
  }

  [[nodiscard]] std::uint64_t used() const { return used_; }
  // Prefetches the state of this port.
  void fetch(std::uint32_t port, unsigned traffic_class) { fetch_line(&at(port, traffic_class)); }

 private:
  struct Ingress {
    std::uint32_t held{};      // of the reserve and the share
    std::uint32_t headroom{};  // bytes in use
    bool paused{};
  };
  [[nodiscard]] bool is_lossless(unsigned traffic_class) const {
    return (config_.lossless >> traffic_class & 1U) != 0;
  }
  [[nodiscard]] Ingress& at(std::uint32_t port, unsigned traffic_class) {
    return ingress_[port * kClasses + traffic_class];
  }
  [[nodiscard]] std::uint64_t share_of_free(Share share) const {
    return shared_ >= shareable_ ? 0 : (shareable_ - shared_) * share.numerator / share.denominator;
  }
  [[nodiscard]] std::uint32_t shared_of(const Ingress& in) const {
    return in.held > config_.reserve ? in.held - config_.reserve : 0;
  }

  BufferConfig config_;
  std::vector<std::uint32_t> headroom_;
  std::vector<Ingress> ingress_;
  std::uint64_t shareable_{};  // the memory minus all reserves and headrooms
  std::uint64_t shared_{};     // of it, in use
  std::uint64_t used_{};
};

}  // namespace nerve::sim
