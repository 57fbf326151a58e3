// DCQCN's notification point: decides when a receiving QP answers a congestion mark with a CNP.
//
// The first mark is answered immediately, because early notification is worth most. After that at
// most one CNP is sent per interval: the sender needs to know that congestion persists, not how
// many packets were marked (SIGCOMM 2015, section 3.1).
#pragma once

#include "base/time.h"

namespace nerve::nic {

class CnpLimiter {
 public:
  // A marked packet arrived. Returns true if a CNP must be sent now. An interval of zero disables
  // CNPs.
  [[nodiscard]] bool on_mark(Duration interval, Time now) {
    if (interval <= Duration{}) return false;
    // A negative difference is an old time across the wrap, not a future one.
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
