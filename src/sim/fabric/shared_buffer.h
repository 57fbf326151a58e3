// The packet memory of one Ethernet switch: who may still come in, and when the sender upstream is
// told to stop.
//
// All ports share it. What a lossless class may hold of it is counted where packets come in: each
// port and class has a small reserve of its own, then a share of what is free (a dynamic threshold:
// the fuller the switch, the smaller), and past that its headroom, which is there only for what is
// already on the cable when the pause leaves. A lossy class is counted where packets go out, and
// dropped past its threshold.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "sim/core/packet.h"

namespace nerve::sim {

// A share of the free memory: numerator / denominator.
struct Share {
  std::uint32_t numerator{1};
  std::uint32_t denominator{8};
};

struct BufferConfig {
  std::uint64_t bytes{32U << 20U};
  std::uint32_t reserve{4 << 10};       // of each port and lossless class
  std::uint32_t resume_below{3 << 10};  // so far under the threshold before senders go on
  Share pause_at{1, 8};                 // lossless
  Share drop_at{1, 1};                  // lossy
  std::uint8_t lossless{1U << 1U};      // classes, one bit each; none: no PFC
};

class SharedBuffer {
 public:
  // `headroom` of each port, in bytes.
  SharedBuffer(const BufferConfig& config, const std::vector<std::uint32_t>& headroom);

  // Takes a packet in, unless there is no room. `queued` is what waits at its way out already.
  [[nodiscard]] bool admit(std::uint32_t port, unsigned traffic_class, std::uint32_t bytes,
                           std::uint64_t queued);
  void release(std::uint32_t port, unsigned traffic_class, std::uint32_t bytes);

  // Each says yes once, and counts on its being done.
  [[nodiscard]] bool begin_pause(std::uint32_t port, unsigned traffic_class);
  [[nodiscard]] bool end_pause(std::uint32_t port, unsigned traffic_class);

  // Whether the sender upstream is to wait.
  [[nodiscard]] bool pauses(std::uint32_t port, unsigned traffic_class) {
    return at(port, traffic_class).paused;
  }

  [[nodiscard]] std::uint64_t used() const { return used_; }
  // Into the cache: what is known of this port.
  void fetch(std::uint32_t port, unsigned traffic_class) {
    __builtin_prefetch(&at(port, traffic_class));
  }

 private:
  struct Ingress {
    std::uint32_t held{};      // reserve and share
    std::uint32_t headroom{};  // in use
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
  std::uint64_t shareable_{};  // what is left after every reserve and headroom
  std::uint64_t shared_{};     // of that, in use
  std::uint64_t used_{};
};

}  // namespace nerve::sim
