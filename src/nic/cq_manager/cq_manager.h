// The CQ Manager: completion queues, their arming and moderation, and overflow.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "base/fixed_array.h"
#include "base/slot_table.h"
#include "base/time.h"
#include "base/timer_heap.h"
#include "nic/attributes.h"
#include "nic/config.h"
#include "nic/cq_manager/event_queue.h"
#include "nic/error.h"
#include "nic/work.h"

namespace nerve::nic {

class CqManager;

// A ring of completions. Completions are never lost silently: a push that finds the ring full
// marks the queue overrun, tells so once by event, and the caller's QP becomes fatal.
struct Cq {
  enum class Arm : std::uint8_t { kNone, kSolicited, kNext };

  FixedArray<Completion> ring;
  std::uint32_t head{};   // free-running; next to poll
  std::uint32_t tail{};   // free-running; next to fill
  std::uint32_t depth{};  // how many may wait; the ring is the next power of two
  std::uint32_t polls{};  // how often the program looked; free-running
  std::uint32_t users{};  // QPs and SRQs that complete here
  Arm arm{Arm::kNone};
  bool overrun{};  // for good: nothing is pushed behind a gap
  bool ignore_overrun{};
  std::uint16_t moderate_count{};  // 0 and 1: every completion
  Duration moderate_period{};      // zero: only the count ends a wait
  std::uint32_t unannounced{};     // completions that moderation holds back
  Timer timer;                     // end of the moderation period
  CqManager* home{};               // whose events and timers it uses: its first user's
  CqHandle handle{};
  std::uint64_t cookie{};
  std::atomic<std::uint32_t> gauge{};  // waiting(), for threads that look at it from outside

  [[nodiscard]] std::uint32_t waiting() const { return tail - head; }
  void changed() { gauge.store(waiting(), std::memory_order_release); }
};

// Engines that share CQs (siblings, nic.h) have a manager each and one table.
class CqManager {
 public:
  CqManager(const Limits& limits, EventQueue& events, SlotTable<Cq>& table)
      : limits_{limits}, events_{events}, table_{table} {}

  Expected<CqHandle> create(const CqInit& init);
  // Keeps what waits; refused when it would not fit.
  Status resize(CqHandle cq, std::uint32_t depth);
  Status moderate(CqHandle cq, std::uint16_t count, Duration period);
  Status arm(CqHandle cq, bool solicited_only);
  Status destroy(CqHandle cq);  // kBusy while used
  // Fills `out` from the front; returns how many.
  Expected<std::size_t> poll(CqHandle cq, std::span<Completion> out);

  [[nodiscard]] Cq* find(CqHandle cq) { return table_.find(cq); }

  // A QP or SRQ of this engine completes there from now on.
  void add_user(Cq& cq);

  // False: the queue is overrun and the completion could not be delivered. An unsuccessful
  // completion counts as solicited.
  bool push(Cq& cq, const Completion& completion, bool solicited, Time now);

  // A destroyed QP's completions are taken out, receives from an SRQ too. The standard leaves it to
  // us; rdma-core's drivers do so, and programs rely on it when they recycle wr_ids.
  void forget(Cq& cq, Qpn qpn);
  // Whether a completion of this QP waits to be polled.
  [[nodiscard]] static bool holds(Cq& cq, Qpn qpn);

  [[nodiscard]] std::optional<Time> next_deadline() { return timers_.next_deadline(); }
  void expire(Time now);
  // Into the cache: the first of them.
  void fetch() const { table_.fetch(); }

 private:
  [[nodiscard]] static bool make_room(Cq& cq);
  // For planted bugs: the engine that uses the first CQ.
  [[nodiscard]] CqManager* first_home() {
    const Cq* const first = table_.at(0);
    return first != nullptr ? first->home : nullptr;
  }
  static void note_for_event(Cq& cq, Time now);
  static void announce(Cq& cq);

  Limits limits_;
  EventQueue& events_;
  SlotTable<Cq>& table_;
  TimerHeap<Cq, &Cq::timer> timers_;
};

}  // namespace nerve::nic
