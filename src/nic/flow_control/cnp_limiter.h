// DCQCN's notification point: when a receiving QP answers a congestion mark with a CNP.
//
// The first mark is answered at once, for news of congestion is worth most early; after that at
// most one CNP leaves in each interval, for the sender needs to know that it still is congested,
// not how many packets were marked (SIGCOMM 2015, section 3.1).
#pragma once

#include "base/time.h"

namespace nerve::nic {

class CnpLimiter {
 public:
  // A marked packet came. True: send a CNP now. An interval of zero turns CNPs off.
  [[nodiscard]] bool on_mark(Duration interval, Time now) {
    if (interval <= Duration{}) return false;
    // A difference below zero is an old time across the wrap, not a future one.
    const Duration since = now - last_;
    if (sent_ && since >= Duration{} && since < interval) return false;
    sent_ = true;
    last_ = now;
    return true;
  }
  void reset() { sent_ = false; }

 private:
  Time last_{};
  bool sent_{};
};

}  // namespace nerve::nic
