// DCQCN's notification point: decides when a receiving QP answers a congestion mark with a CNP.
//
// The first mark is answered immediately, because early notification is worth most. After that at
// most one CNP is sent per interval: the sender needs to know that congestion persists, not how
// many packets were marked (SIGCOMM 2015, section 3.1).
#pragma once

#include "base/time.h"
#include "base/token_bucket.h"

namespace nerve::nic {

class CnpLimiter {
 public:
  // A marked packet arrived. Returns true if a CNP must be sent now. An interval of zero disables
  // CNPs.
  [[nodiscard]] bool on_mark(Duration interval, Time now) {
    return interval > Duration{} && bucket_.take(interval, 1, now);
  }
  void reset() { bucket_ = {}; }

 private:
  TokenBucket bucket_;
};

}  // namespace nerve::nic
