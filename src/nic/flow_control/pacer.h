// Spaces a QP's frames so that it keeps to its rate, a small burst at a time.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "base/time.h"

namespace nerve::nic {

class Pacer {
 public:
  // When the next frame may leave; `now` or earlier means at once.
  [[nodiscard]] Time next_send() const { return next_send_; }
  [[nodiscard]] bool may_send(Time now) const { return next_send_ <= now; }
  // Credit does not build up while a QP is idle: the schedule restarts at `now`.
  void on_send(std::uint64_t octets, Rate rate, Time now) {
    if (next_send_ < now) next_send_ = now;
    next_send_ += rate.time_to_send(octets);
  }
  void reset(Time now) { next_send_ = now; }

 private:
  Time next_send_{};
};

}  // namespace nerve::nic
