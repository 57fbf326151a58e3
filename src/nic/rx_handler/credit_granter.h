// Receiver credits (RCCC of the Ultra Ethernet specification 1.0): the receiver grants packets to
// its senders in turn, at its line rate, as far as they have demanded them. So what arrives fits
// its cable, however many senders there are.
#pragma once

#include <optional>

#include "base/time.h"
#include "nic/qp_context/core.h"
#include "nic/qp_context/scheduler.h"

namespace nerve::nic {

class CreditGranter {
 public:
  explicit CreditGranter(Core& core) : core_{core} {}

  // A request packet has arrived, perhaps trimmed.
  void note_demand(Qp& qp, UltraEthernet& ultra, const wire::Frame& frame);

  [[nodiscard]] std::optional<Time> next_deadline() const {
    if (core_.scheduler.next_without_credit() == nullptr) return std::nullopt;
    return next_;
  }
  void expire();

 private:
  Core& core_;
  Time next_{};  // when the next credit may be granted
};

}  // namespace nerve::nic
