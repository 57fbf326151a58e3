#include "nic/flow_control/credits.h"

#include "base/ids.h"
#include "wire/syndrome.h"

namespace nerve::nic {
namespace {

constexpr std::uint32_t kRingMask = 0xff'ffff;

// Message numbers live on the same ring as PSNs.
constexpr std::int32_t steps(std::uint32_t from, std::uint32_t to) {
  return Psn{to}.distance_from(Psn{from});
}

}  // namespace

void SendCredits::on_ack(std::uint32_t msn, std::uint8_t code) {
  if (heard_ && steps(newest_msn_, msn) < 0) return;
  heard_ = true;
  newest_msn_ = msn & kRingMask;

  const auto credits = wire::credits_of(code);
  if (!credits) {
    limited_ = false;
    return;
  }
  // Credit codes round down, so a later ACK may seem to withdraw credits; it does not.
  const std::uint32_t offered = (msn + *credits) & kRingMask;
  if (!limited_ || steps(limit_, offered) > 0) limit_ = offered;
  limited_ = true;
}

CreditVerdict SendCredits::verdict(std::uint32_t ssn) const {
  if (!limited_) return CreditVerdict::kSend;
  const std::int32_t beyond = steps(limit_, ssn);
  if (beyond <= 0) return CreditVerdict::kSend;
  return beyond == 1 ? CreditVerdict::kProbe : CreditVerdict::kWait;
}

std::uint8_t announced_credits(const FlowControlConfig& config, bool shared_receives,
                               std::uint32_t posted_receives) {
  if (!config.announce_credits || shared_receives) return wire::kCreditsUnknown;
  return wire::credit_code(posted_receives);
}

}  // namespace nerve::nic
