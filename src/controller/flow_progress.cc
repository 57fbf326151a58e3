#include "controller/flow_progress.h"

namespace nerve::controller {

void FlowProgress::report(std::uint64_t bytes, std::uint64_t retransmitted, Time now) {
  constexpr double kMuchLess = 0.25;
  // Counters that run backwards are those of another QP.
  const bool again = !begun_ || bytes < bytes_ || retransmitted < retransmitted_;
  const Duration since = now - reported_;
  const std::uint64_t sent = again ? 0 : bytes - bytes_;
  const bool resent = !again && retransmitted > retransmitted_;
  begun_ = true;
  if (!again && since < kShortest) return;
  bytes_ = bytes;
  retransmitted_ = retransmitted;
  reported_ = now;
  advances_ = false;
  if (again) {
    usual_ = 0;
    slow_since_.reset();
    return;
  }
  if (sent > 0) sent_ = now;
  if (resent) resent_ = now;
  const bool loses = resent_ && now - *resent_ < kResentFor;
  const double rate = static_cast<double>(sent) / std::chrono::duration<double>{since}.count();
  if (rate >= usual_ * kMuchLess) {
    advances_ = sent > 0 && !resent && since <= kShortReport;
    usual_ = usual_ == 0 ? rate : (3 * usual_ + rate) / 4;
    slow_since_.reset();
  } else if (slow_since_ && now - *slow_since_ >= kGiveUp) {
    usual_ = rate;
    slow_since_.reset();
  } else if (!slow_since_ && loses) {
    slow_since_ = now - (sent == 0 ? kStall : Duration{});
  } else if (!slow_since_) {
    usual_ *= 0.9;  // it has less to send
  }
}

}  // namespace nerve::controller
