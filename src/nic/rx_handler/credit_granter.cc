#include "nic/rx_handler/credit_granter.h"

#include <algorithm>

#include "wire/ultra_ethernet.h"

namespace nerve::nic {
namespace {

constexpr std::uint64_t kAtOnce = 4;  // packets per credit

// Around the payload of a packet on Ethernet: headers of all layers, CRC, preamble and gap.
constexpr std::uint32_t kAroundPayload = 82;

// A little less than the line rate, so that queues in the network drain.
constexpr std::int64_t kSlowdown = 101;

}  // namespace

// The sender has demanded everything up to `demand_end`. After it was idle, it sends the first
// packets without credit.
void CreditGranter::note_demand(Qp& qp, UltraEthernet& ultra, const wire::Frame& frame) {
  if (!core_.config.ultra_ethernet.receiver_credits) return;
  const wire::Bth& bth = frame.headers.bth;
  if (frame.trimmed) ++ultra.demanded;
  const Psn end = bth.psn + (1 + wire::demand_of(bth));
  const std::int32_t more = end.distance_from(ultra.demand_end);
  if (more > 0) {
    // Everything before has arrived.
    if (qp.responder.expected == ultra.demand_end) {
      ultra.unsolicited_left = core_.config.ultra_ethernet.unsolicited_packets;
    }
    const auto grown = static_cast<std::uint32_t>(more);
    const std::uint32_t unsolicited = std::min(grown, ultra.unsolicited_left);
    ultra.unsolicited_left -= unsolicited;
    ultra.demanded += grown - unsolicited;
    ultra.demand_end = end;
  }
  if (ultra.granted >= ultra.demanded) return;
  // The last credit may be so long ago that its time compares as future, or there was none.
  constexpr Duration kLongest = std::chrono::seconds{1};
  const bool first = core_.scheduler.next_without_credit() == nullptr;
  if (first && (next_ < core_.now || next_ - core_.now > kLongest)) next_ = core_.now;
  core_.scheduler.await_credit(ultra);
}

void CreditGranter::expire() {
  while (UltraEthernet* const ultra = core_.scheduler.next_without_credit()) {
    if (next_ > core_.now) return;
    Qp& qp = ultra->owner;
    const std::uint64_t packets = std::min(kAtOnce, ultra->demanded - ultra->granted);
    ultra->granted += packets;
    ultra->credit_due = qp.responder.sack_due = true;
    core_.scheduler.wake(qp);
    core_.scheduler.stop_awaiting_credit(*ultra);
    if (ultra->granted < ultra->demanded) core_.scheduler.await_credit(*ultra);
    const Duration time = core_.config.line_rate.time_to_send(packets * (qp.mtu + kAroundPayload));
    next_ = std::max(next_, core_.now) + time * kSlowdown / 100;
  }
}

}  // namespace nerve::nic
