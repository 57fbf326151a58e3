// Receiver credits (RCCC of the Ultra Ethernet specification 1.0): the receiver grants packets to
// its senders in turn, at its line rate, as far as they have demanded them. So what arrives fits
// its cable, however many senders there are.
#pragma once

#include <optional>

#include "base/time.h"
#include "nic/config.h"
#include "nic/qp_context/scheduler.h"

namespace nerve::nic {

class CreditGranter {
 public:
  CreditGranter(const NicConfig& config, Scheduler& scheduler, const Time& now)
      : config_{config}, scheduler_{scheduler}, now_{now} {}

  // A request packet has arrived, perhaps trimmed.
  void note_demand(Qp& qp, UltraEthernet& ultra, const wire::Frame& frame);

  [[nodiscard]] std::optional<Time> next_deadline() const {
    if (scheduler_.next_without_credit() == nullptr) return std::nullopt;
    return next_;
  }
  void expire();

 private:
  const NicConfig& config_;
  Scheduler& scheduler_;
  const Time& now_;
  Time next_{};  // when the next credit may be granted
};

}  // namespace nerve::nic
