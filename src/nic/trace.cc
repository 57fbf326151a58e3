#include "nic/trace.h"

#include <algorithm>
#include <utility>

namespace nerve::nic {

bool Trace::writable(std::uint64_t record) {
  if (record >= room_.records.size()) return false;
  if (record < ready_.load(std::memory_order_acquire)) return true;
  const std::uint64_t ready = room_.extend(room_.context, record);
  if (ready <= record) return false;
  ready_.store(ready, std::memory_order_release);
  return true;
}

// The entry of the QP, or the free one where it belongs.
QpTrace& Trace::slot_for(std::uint32_t qpn) {
  constexpr std::uint32_t kSpread = 0x9e37'79b1;
  const std::size_t mask = qps_.size() - 1;
  std::size_t at = (qpn * kSpread) & mask;
  while (qps_[at].used && qps_[at].qpn != qpn) at = (at + 1) & mask;
  return qps_[at];
}

QpTrace& Trace::of(std::uint32_t qpn) {
  constexpr std::size_t kSmallest = 16;
  if (2 * (known_ + 1) > qps_.size()) {
    const std::vector<QpTrace> before =
        std::exchange(qps_, std::vector<QpTrace>(std::max(kSmallest, 2 * qps_.size())));
    for (const QpTrace& qp : before) {
      if (qp.used) slot_for(qp.qpn) = qp;
    }
  }
  QpTrace& found = slot_for(qpn);
  if (!found.used) {
    found = {.qpn = qpn, .used = true};
    ++known_;
  }
  return found;
}

bool Trace::polled(std::uint32_t qpn) {
  QpTrace& qp = of(qpn);
  if (qp.unpolled == 0) return false;
  --qp.unpolled;
  --unpolled_;
  return true;
}

void Trace::add(TraceRecord record) {
  if (stopped_) return;
  record.at = room_.clock(room_.context);
  if (record.step == TraceStep::kPost) last_post_ = record;
  const std::uint64_t place = room_.count->fetch_add(1, std::memory_order_relaxed);
  if (!writable(place)) return;
  TraceRecord& to = room_.records[place];
  const TraceStep step = record.step;
  record.step = TraceStep::kNone;
  to = record;
  std::atomic_ref<TraceStep>{to.step}.store(step, std::memory_order_release);
}

void Trace::doorbell() {
  if (last_post_.step != TraceStep::kPost) return;
  TraceRecord record = last_post_;
  last_post_ = {};
  record.step = TraceStep::kDoorbell;
  add(record);
}

// Each record of a packet that was made becomes one of a packet that is sent.
void Trace::packets_sent() {
  if (stopped_) return;
  if (sent_ == count()) return;
  const std::uint64_t end = std::min(count(), ready_.load(std::memory_order_acquire));
  for (std::uint64_t i = sent_; i < end; ++i) {
    TraceRecord record = room_.records[i];
    switch (record.step) {
      case TraceStep::kPacketMade:
      case TraceStep::kAckSent:
      case TraceStep::kNakSent:
      case TraceStep::kCmSend:
        record.step = TraceStep::kPacketSent;
        add(record);
        break;
      default:
        break;
    }
  }
  sent_ = count();
}

}  // namespace nerve::nic
