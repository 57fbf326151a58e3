// The CQ manager: completion queues, their arming, moderation and overflow.
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

// A ring of completions. Completions are never lost silently: a push to a full ring marks the queue
// overrun, raises one event, and the caller's QP enters the error state.
struct Cq {
  enum class Arm : std::uint8_t { kNone, kSolicited, kNext };

  // In order of how often they are used.
  std::atomic<std::uint32_t> gauge{};  // waiting(), readable by other threads
  std::uint32_t head{};                // free-running; next to poll
  std::uint32_t tail{};                // free-running; next to fill
  std::uint32_t depth{};               // capacity; the ring has the next power of two
  std::uint32_t polls{};               // free-running; number of polls
  Arm arm{Arm::kNone};
  bool overrun{};  // permanent: nothing is pushed after a gap
  bool ignore_overrun{};
  FixedArray<Completion> ring;
  std::uint16_t moderate_count{};  // 0 and 1: every completion
  std::uint32_t unannounced{};     // completions held back by moderation

  Duration moderate_period{};  // zero: only the count ends a wait
  Timer timer;                 // end of the moderation period
  CqManager* home{};           // owner of its events and timers: its first user's manager
  CqHandle handle{};
  std::uint64_t cookie{};
  std::uint32_t users{};  // QPs and SRQs that use it

  [[nodiscard]] std::uint32_t waiting() const { return tail - head; }
  void changed() { gauge.store(waiting(), std::memory_order_release); }
};

// Sibling engines (nic.h) have one manager each and share one table.
class CqManager {
 public:
  CqManager(const Limits& limits, EventQueue& events, SlotTable<Cq>& table)
      : table_{table}, events_{events}, limits_{limits} {}

  Expected<CqHandle> create(const CqInit& init);
  // Keeps waiting completions; fails when they would not fit.
  Status resize(CqHandle cq, std::uint32_t depth);
  Status moderate(CqHandle cq, std::uint16_t count, Duration period);
  Status arm(CqHandle cq, bool solicited_only);
  Status destroy(CqHandle cq);  // kBusy while in use
  // Fills `out` from the front; returns the number of completions.
  Expected<std::size_t> poll(CqHandle cq, std::span<Completion> out);

  [[nodiscard]] Cq* find(CqHandle cq) { return table_.find(cq); }

  // Registers a QP or SRQ of this engine as a user of the CQ.
  void add_user(Cq& cq);

  // Returns false when the queue is overrun and the completion is lost. An unsuccessful completion
  // counts as solicited.
  bool push(Cq& cq, const Completion& completion, bool solicited, Time now);

  // Removes the completions of a destroyed QP, including those of receives from an SRQ. The
  // standard leaves this open; rdma-core's drivers do so, and programs that recycle wr_ids rely on
  // it.
  void forget(Cq& cq, Qpn qpn);
  // Whether the CQ holds a completion of this QP.
  [[nodiscard]] static bool holds(Cq& cq, Qpn qpn);

  [[nodiscard]] std::optional<Time> next_deadline() { return timers_.next_deadline(); }
  void expire(Time now);

 private:
  [[nodiscard]] static bool make_room(Cq& cq);
  // For planted bugs: the engine that uses the first CQ.
  [[nodiscard]] CqManager* first_home() {
    const Cq* const first = table_.at(0);
    return first != nullptr ? first->home : nullptr;
  }
  static void note_for_event(Cq& cq, Time now);
  static void announce(Cq& cq);

  TimerHeap<Cq, &Cq::timer> timers_;
  SlotTable<Cq>& table_;
  EventQueue& events_;
  const Limits& limits_;
};

}  // namespace nerve::nic
