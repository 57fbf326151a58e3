// Decides which CNPs a sending QP heeds.
//
// A CNP has no sequence number, so anyone who knows the addresses and the QPN can forge one. But an
// honest receiver sends one per interval at most, and only in answer to packets (cnp_limiter.h). A
// few may arrive together after a delay, hence the burst.
#pragma once

#include <cstdint>

#include "base/planted.h"
#include "base/time.h"
#include "base/token_bucket.h"

namespace nerve::nic {

class CnpFilter {
 public:
  void on_send(Time now) {
    sent_ = true;
    last_sent_ = now;
  }
  // A burst of zero admits all.
  [[nodiscard]] bool admits(Duration interval, std::uint32_t burst, Time now) {
    if (burst == 0 || planted(Bug::kCnpIntervalIgnored)) return true;
    const Duration since = now - last_sent_;
    if (!sent_ || since < Duration{} || since > kRecent) return false;
    return bucket_.take(interval, burst, now);
  }

 private:
  // Longer than any round trip.
  static constexpr Duration kRecent{std::chrono::seconds{1}};

  TokenBucket bucket_;
  Time last_sent_{};
  bool sent_{};
};

}  // namespace nerve::nic
