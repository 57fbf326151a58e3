// The event queue. Events run in time order. Those with equal times are ordered by their kind and
// subject; only events that agree in both run in the order in which they were scheduled. So what
// happens to an object does not depend on which other objects have their events in the same queue,
// and a simulation can be divided among several queues.
//
// A wheel of slots of about a nanosecond covers the near future, in which nearly every event of a
// fabric falls (a packet's hop to the next switch). Later events wait in a heap until the wheel
// reaches their slot. An event holds its kind and the index of the object it happens to. Nothing is
// allocated per event, and there are no callbacks: the caller of next() switches on the kind.
//
// The cost here is cache misses. The events of a slot are therefore stored together, six in a block
// of one cache line. The blocks of a slot are linked newest first and are put in order when the
// slot is opened. Slots are opened ahead, so that the caller knows the next events and can prefetch
// what they will touch.
//
// A caller that knows which objects cannot affect each other for a while takes the events of that
// window group by group (open_window): all events of one group of objects in order, then those of
// the next. What these objects consist of is then fetched once for a window, not for every event.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "sim/core/window_queue.h"

namespace nerve::sim {

template <class Kind>
struct Event {
  Time when{};
  std::uint32_t subject{};  // the object it happens to; below 2^28
  std::uint32_t argument{};
  Kind kind{};  // one of sixteen
};

template <class Kind>
class EventWheel {
 public:
  static constexpr unsigned kSlotBits = 10;  // 1024 ps per slot
  static constexpr std::uint32_t kSlots = 1U << 14;
  static_assert(kSlotBits % 2 == 0, "sorting deals by halves");

  EventWheel() : heads_(kSlots, Head{kNone, 0}) {}

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] bool empty() const { return pending_ == 0; }
  [[nodiscard]] std::size_t pending() const { return pending_; }
  [[nodiscard]] std::uint64_t executed() const { return executed_; }

  // A time in the past counts as now.
  void at(Time when, Kind kind, std::uint32_t subject, std::uint32_t argument = 0) {
    if (when < now_) when = now_;
    const Due due{when, subject | static_cast<std::uint32_t>(kind) << kKindShift, argument};
    ++pending_;
    if (when < opened_to_) return in_window_ ? added_.push(due) : insert_current(due);
    if (slot_of(when) - turn_ < kSlots) return push(due);
    push_far(due);
  }
  void after(Duration delay, Kind kind, std::uint32_t subject, std::uint32_t argument = 0) {
    at(now_ + delay, kind, subject, argument);
  }

  // Removes the next event. Returns false when none is due at or before `limit`.
  bool next(Time limit, Event<Kind>& event) {
    if (current_.size() - at_ < kAhead) open_more(limit);
    if (at_ == current_.size()) return false;
    if (current_[at_].when > limit) return false;
    take_current(event);
    return true;
  }
  // Takes all events due before `end`, for next_in_window(). `group_of(kind, subject)` is below
  // `groups`. Until the window is done, only events of the group whose turn it is may be scheduled
  // before its end.
  template <class GroupOf>
  void open_window(Time end, std::uint32_t groups, GroupOf group_of) {
    CHECK(at_ == current_.size() && added_.empty());
    forget_done();
    in_window_ = true;
    added_.open(std::min(due().value_or(end), end), end);
    const Time limit = end - Duration{1};
    std::size_t last_slot = 0;
    for (std::size_t before = 0; open_next(limit); before = current_.size()) last_slot = before;
    put_back(last_slot, limit);
    opened_to_ = end;
    order_by_group(groups, group_of);
  }
  // Removes the next event of the window. Returns false when there is none: the window is done.
  bool next_in_window(Event<Kind>& event) {
    if (added_.empty()) {
      if (at_ == current_.size()) return close_window();
      if (at_ == group_end_) group_end_ = ends_[group_++];
      take_current(event);
    } else if (at_ < group_end_ && !added_.front().precedes(current_[at_])) {
      take_current(event);
    } else {
      take(added_.front(), event);
      added_.pop();
    }
    return true;
  }
  // When the next event is due; nothing if there is none.
  [[nodiscard]] std::optional<Time> due() const {
    if (at_ < current_.size()) return current_[at_].when;
    if (pending_ == 0) return std::nullopt;
    const std::uint32_t ahead = distance(kSlots);
    if (ahead == kSlots) return far_.front().due.when;
    const std::uint64_t slot = turn_ + ahead;
    const Head& head = heads_[slot % kSlots];
    std::uint16_t first = 0xffff;
    std::uint32_t count = head.count;
    for (std::uint32_t block = head.block; block != kNone; block = blocks_[block].next) {
      for (std::uint32_t i = 0; i < count; ++i) first = std::min(first, blocks_[block].within[i]);
      count = Block::kRoom;
    }
    return Time{Duration{static_cast<std::int64_t>(slot << kSlotBits | first)}};
  }
  // Lets time pass. No event may be due before.
  void skip_to(Time when) {
    CHECK(!due() || when <= *due());
    now_ = std::max(now_, when);
  }

  // Calls `look` once for each upcoming event, when at most `by` events are left before it, so that
  // it can prefetch what the event will touch. Prefetching takes several steps, because the address
  // needed by one step is read from the memory fetched by the step before it. Events that are more
  // than kAhead events away, or beyond the limit of next(), may not be known yet.
  static constexpr std::size_t kSteps = 6;
  static constexpr std::size_t kAhead = 24;
  // Whether anything has changed for that since this was last asked.
  bool moved() { return std::exchange(looked_at_, taken_) != taken_; }
  template <class Look>
  void look_ahead(std::size_t step, std::size_t by, Look look) {
    std::size_t& seen = seen_[step];
    const std::size_t end = std::min(at_ + by, current_.size());
    for (; seen < end; ++seen) look(event_of(current_[seen]));
  }

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  static constexpr std::uint32_t kWords = kSlots / 64;
  static constexpr unsigned kKindShift = 28;
  static constexpr std::uint32_t kSubjects = 1U << kKindShift;
  static constexpr std::size_t kMostDone = 4096;  // events that are kept in current_ when done

  struct Due {
    Time when;
    std::uint32_t subject_and_kind;
    std::uint32_t argument;

    [[nodiscard]] bool precedes(const Due& o) const {
      return when != o.when ? when < o.when : subject_and_kind < o.subject_and_kind;
    }
  };
  struct alignas(64) Block {
    static constexpr std::uint32_t kRoom = 6;
    std::uint32_t next;  // the older block; in the free list, the next free one
    std::array<std::uint32_t, kRoom> subject_and_kind;
    std::array<std::uint32_t, kRoom> argument;
    std::array<std::uint16_t, kRoom> within;  // offset in the slot, in picoseconds
  };
  static_assert(sizeof(Block) == 64);
  // The newest block of a slot and its number of events.
  struct Head {
    std::uint32_t block;
    std::uint32_t count;
  };
  struct Far {
    Due due;
    std::uint64_t ticket;
    bool operator<(const Far& o) const {  // the earliest is the greatest
      if (due.when != o.due.when) return o.due.when < due.when;
      if (due.subject_and_kind != o.due.subject_and_kind) return o.due.precedes(due);
      return o.ticket < ticket;
    }
  };

  static std::uint64_t slot_of(Time when) { return when.picoseconds() >> kSlotBits; }

  static Event<Kind> event_of(const Due& due) {
    return {due.when, due.subject_and_kind % kSubjects, due.argument,
            static_cast<Kind>(due.subject_and_kind >> kKindShift)};
  }

  void take_current(Event<Kind>& event) {
    ++taken_;
    take(current_[at_++], event);
  }
  void take(const Due& due, Event<Kind>& event) {
    now_ = due.when;
    --pending_;
    ++executed_;
    event = event_of(due);
  }

  std::uint32_t take_block(std::uint32_t next) {
    if (free_ == kNone) {
      blocks_.emplace_back().next = next;
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    }
    const std::uint32_t block = free_;
    free_ = std::exchange(blocks_[block].next, next);
    return block;
  }

  void push(const Due& due) {
    const auto i = static_cast<std::uint32_t>(slot_of(due.when) % kSlots);
    Head& head = heads_[i];
    if (head.block == kNone) words_[i / 64] |= std::uint64_t{1} << (i % 64);
    if (head.block == kNone || head.count == Block::kRoom) head = {take_block(head.block), 0};
    Block& block = blocks_[head.block];
    block.subject_and_kind[head.count] = due.subject_and_kind;
    block.argument[head.count] = due.argument;
    block.within[head.count] =
        static_cast<std::uint16_t>(due.when.picoseconds() % (1U << kSlotBits));
    ++head.count;
  }

  // Inserts behind all events that do not come later.
  void insert_current(const Due& due) {
    std::size_t i = current_.size();
    current_.push_back(due);
    for (; i > at_ && due.precedes(current_[i - 1]); --i) current_[i] = current_[i - 1];
    current_[i] = due;
  }

  void push_far(const Due& due) {
    far_.push_back({due, next_ticket_++});
    std::push_heap(far_.begin(), far_.end());
  }

  // Moves the wheel to `slot`. Events of the heap that the wheel now covers go onto it before any
  // new event can be scheduled there; this keeps equal events in order.
  void advance(std::uint64_t slot) {
    turn_ = slot;
    while (!far_.empty() && slot_of(far_.front().due.when) - turn_ < kSlots) {
      std::pop_heap(far_.begin(), far_.end());
      push(far_.back().due);
      far_.pop_back();
    }
  }

  // Slots from `turn_` to the next non-empty slot; kSlots when the next `within` slots are empty.
  [[nodiscard]] std::uint32_t distance(std::uint64_t within) const {
    const auto from = static_cast<std::uint32_t>(turn_ % kSlots);
    const std::uint64_t first = words_[from / 64] >> (from % 64);
    if (first != 0) return static_cast<std::uint32_t>(std::countr_zero(first));
    for (std::uint32_t i = 1; i <= kWords && (i - 1) * 64 <= within; ++i) {
      const std::uint32_t word = (from / 64 + i) % kWords;
      if (words_[word] == 0) continue;
      const auto found = word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
      return (found - from) % kSlots;
    }
    return kSlots;
  }

  // Opens slots until enough events are known, or all that are due at or before `limit`.
  void open_more(Time limit) {
    if (at_ == current_.size() || at_ >= kMostDone) forget_done();
    while (current_.size() - at_ < kAhead && open_next(limit)) {
    }
  }
  void forget_done() {
    if (at_ == current_.size()) opened_to_ = Time{};
    current_.erase(current_.begin(), current_.begin() + static_cast<std::ptrdiff_t>(at_));
    for (std::size_t& seen : seen_) seen -= std::min(seen, at_);
    at_ = 0;
  }

  // Opens the next non-empty slot, unless it lies beyond `limit`.
  bool open_next(Time limit) {
    if (pending_ == current_.size() - at_) return false;
    const std::uint64_t last = slot_of(limit);
    if (last < turn_) return false;
    std::uint32_t ahead = distance(last - turn_);
    if (ahead == kSlots) {
      if (far_.empty() || far_.front().due.when > limit) return false;
      advance(slot_of(far_.front().due.when));
      ahead = 0;
    }
    const std::uint64_t slot = turn_ + ahead;
    if (slot > last) return false;
    if (ahead > 0) advance(slot);
    const std::size_t first = current_.size();
    open(static_cast<std::uint32_t>(slot % kSlots));
    if (!in_window_) sort_current(first);
    opened_to_ = Time{Duration{static_cast<std::int64_t>((slot + 1) << kSlotBits)}};
    return true;
  }

  void open(std::uint32_t i) {
    Head& head = heads_[i];
    opened_.clear();
    for (std::uint32_t block = head.block; block != kNone; block = blocks_[block].next) {
      opened_.push_back(block);
    }
    for (std::size_t left = opened_.size(); left-- > 0;) {
      const std::uint32_t block = opened_[left];
      append(blocks_[block], left == 0 ? head.count : Block::kRoom);
      blocks_[block].next = std::exchange(free_, block);
    }
    head = {kNone, 0};
    words_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
  }
  void append(const Block& block, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t when = turn_ << kSlotBits | block.within[i];
      current_.push_back({Time{Duration{static_cast<std::int64_t>(when)}},
                          block.subject_and_kind[i], block.argument[i]});
    }
  }

  // Puts those events of the slot that begins at `first` back that come after `limit`.
  void put_back(std::size_t first, Time limit) {
    std::size_t kept = first;
    for (std::size_t i = first; i < current_.size(); ++i) {
      if (current_[i].when > limit) {
        push(current_[i]);
      } else {
        current_[kept++] = current_[i];
      }
    }
    current_.resize(kept);
  }

  template <class GroupOf>
  void order_by_group(std::uint32_t groups, GroupOf group_of) {
    constexpr std::size_t kOneGroup = 8;  // so few events are taken in order of time
    group_ = 0;
    group_end_ = 0;
    ends_.clear();
    if (current_.size() <= kOneGroup) {
      sort_few(0, current_.size());
      ends_.push_back(current_.size());
      return;
    }
    if (places_.size() < groups) places_.resize(groups);
    group_of_event_.resize(current_.size());
    for (std::size_t i = 0; i < current_.size(); ++i) {
      const Event<Kind> event = event_of(current_[i]);
      const std::uint32_t group = group_of(event.kind, event.subject);
      group_of_event_[i] = group;
      if (places_[group]++ == 0) turns_.push_back(group);
    }
    std::uint32_t begin = 0;
    for (const std::uint32_t group : turns_) {
      begin += std::exchange(places_[group], begin);
    }
    dealt_.resize(current_.size());
    for (std::size_t i = 0; i < current_.size(); ++i) {
      dealt_[places_[group_of_event_[i]]++] = current_[i];
    }
    current_.swap(dealt_);
    std::size_t from = 0;
    for (const std::uint32_t group : turns_) {
      const std::size_t end = std::exchange(places_[group], 0);
      sort_group(from, end);
      ends_.push_back(end);
      from = end;
    }
    turns_.clear();
  }
  // The events come slot by slot, so they are nearly in order, unless many are in one slot.
  void sort_group(std::size_t from, std::size_t end) {
    std::size_t moves = 16 * (end - from);
    for (std::size_t i = from + 1; i < end; ++i) {
      const Due due = current_[i];
      std::size_t to = i;
      for (; to > from && due.precedes(current_[to - 1]); --to) current_[to] = current_[to - 1];
      current_[to] = due;
      if (i - to > moves) {
        return std::stable_sort(current_.begin() + static_cast<std::ptrdiff_t>(from),
                                current_.begin() + static_cast<std::ptrdiff_t>(end),
                                [](const Due& a, const Due& b) { return a.precedes(b); });
      }
      moves -= i - to;
    }
  }
  bool close_window() {
    now_ = opened_to_ - Duration{1};
    opened_to_ = Time{};
    in_window_ = false;
    return false;
  }

  // Sorts the slot that begins at `first`, stably. Most slots hold few events, nearly in order:
  // insertion sort. Others take two passes of a radix sort, over the lower and then the upper half
  // of the slot bits, and then events of one time are put in order.
  void sort_current(std::size_t first) {
    constexpr std::size_t kFew = 48;
    if (current_.size() - first <= kFew) return sort_few(first, current_.size());
    dealt_.resize(current_.size() - first);
    const std::span<Due> slot = std::span{current_}.subspan(first);
    deal(0, slot, dealt_);
    deal(kSlotBits / 2, dealt_, slot);
    for (std::size_t from = first, to = first; from < current_.size(); from = to) {
      while (to < current_.size() && current_[to].when == current_[from].when) ++to;
      if (to - from <= kFew) {
        sort_few(from, to);
      } else {
        std::stable_sort(current_.begin() + static_cast<std::ptrdiff_t>(from),
                         current_.begin() + static_cast<std::ptrdiff_t>(to),
                         [](const Due& a, const Due& b) { return a.precedes(b); });
      }
    }
  }
  void sort_few(std::size_t from, std::size_t end) {
    for (std::size_t i = from + 1; i < end; ++i) {
      const Due due = current_[i];
      std::size_t to = i;
      for (; to > from && due.precedes(current_[to - 1]); --to) current_[to] = current_[to - 1];
      current_[to] = due;
    }
  }
  static void deal(unsigned from_bit, std::span<const Due> from, std::span<Due> to) {
    constexpr std::size_t kPiles = 1U << (kSlotBits / 2);
    const auto pile = [&](const Due& due) {
      return static_cast<std::size_t>(due.when.picoseconds() >> from_bit) % kPiles;
    };
    std::array<std::uint32_t, kPiles + 1> begin{};
    for (const Due& due : from) ++begin[pile(due) + 1];
    for (std::size_t i = 1; i <= kPiles; ++i) begin[i] += begin[i - 1];
    for (const Due& due : from) to[begin[pile(due)]++] = due;
  }

  std::vector<Block> blocks_;
  std::uint32_t free_{kNone};
  std::vector<Head> heads_;                    // one per slot
  std::array<std::uint64_t, kWords> words_{};  // a bit per slot: not empty
  std::vector<Far> far_;
  std::uint64_t next_ticket_{};

  std::vector<Due> current_;  // the events of the open slots, sorted; those before at_ are done
  std::vector<Due> dealt_;
  std::vector<std::uint32_t> opened_;  // blocks, newest first
  std::size_t at_{};
  std::array<std::size_t, kSteps> seen_{};  // progress of each look-ahead step
  std::uint64_t taken_{};                   // of current_
  std::uint64_t looked_at_{};               // taken_ when moved() was last called
  // In a window: current_ is in order of groups, and these hold the rest.
  std::vector<std::size_t> ends_;  // of the groups in current_
  std::size_t group_{};            // the number of groups whose turn has come
  std::size_t group_end_{};        // of the group whose turn it is
  WindowQueue<Due> added_;         // scheduled in the window for this group
  bool in_window_{};
  std::vector<std::uint32_t> group_of_event_;
  std::vector<std::uint32_t> places_;  // per group; zero between windows
  std::vector<std::uint32_t> turns_;   // groups in order of their first event

  Time opened_to_{};      // current_ holds all events before; zero when it is empty
  std::uint64_t turn_{};  // the last slot that was opened
  Time now_{};
  std::size_t pending_{};
  std::uint64_t executed_{};
};

}  // namespace nerve::sim
