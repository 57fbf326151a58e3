// Objects with stable addresses, referred to by handles that may safely outlive them.
//
// A handle is an index and the generation of its slot, so a stale handle finds nothing. Slots are
// allocated in chunks as the table grows, each as large as all before it: an engine with few
// objects is small, and a pointer into the table is valid until its object is erased. Free slots
// are reused oldest first, so that a number seen on the wire stays unused for as long as possible
// before it names another object.
//
// One thread may create and erase objects while others look up theirs, as long as the object they
// look up is not being erased.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/fetch_lines.h"

namespace nerve {

template <class T>
struct Handle {
  std::uint32_t index{};
  std::uint32_t generation{};  // zero: a null handle
  friend constexpr bool operator==(Handle, Handle) = default;
  constexpr explicit operator bool() const { return generation != 0; }
};

template <class T>
class SlotTable {
 public:
  explicit SlotTable(std::uint32_t limit) : limit_{limit} {}

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] bool full() const { return size_ == limit_; }

  // The caller has checked that the table is not full.
  template <class... Args>
  std::pair<Handle<T>, T&> emplace(Args&&... args) {
    CHECK(!full());
    const std::uint32_t index = take_index();
    Slot& slot = slot_at(index);
    slot.fill(std::forward<Args>(args)...);
    ++size_;
    return {Handle<T>{index, slot.generation}, slot.object};
  }

  [[nodiscard]] T* find(Handle<T> handle) {
    if (handle.index >= made()) return nullptr;
    Slot& slot = slot_at(handle.index);
    return slot.generation == handle.generation && slot.used ? &slot.object : nullptr;
  }
  [[nodiscard]] const T* find(Handle<T> handle) const {
    return const_cast<SlotTable*>(this)->find(handle);  // find() itself changes nothing
  }
  // Finds an object by index alone, for numbers that the wire carries without a generation.
  [[nodiscard]] T* at(std::uint32_t index) {
    if (index >= made()) return nullptr;
    Slot& slot = slot_at(index);
    return slot.used ? &slot.object : nullptr;
  }

  // For prefetching: where an object is, if there is one. Reads only the table, of which
  // fetch_way_to() prefetches what is not in this object.
  [[nodiscard]] const T* place_of(std::uint32_t index) const {
    return index < made() ? &const_cast<SlotTable*>(this)->slot_at(index).object : nullptr;
  }
  void fetch_way_to(std::uint32_t index) const {
    if (index >= kFirst && index < made()) fetch_line(&later_[chunk_of(index)]);
  }

  void erase(Handle<T> handle) {
    CHECK(find(handle) != nullptr);
    Slot& slot = slot_at(handle.index);
    slot.clear();
    if (++slot.generation == 0) slot.generation = 1;
    slot.next_free = kNone;
    if (last_free_ == kNone) {
      first_free_ = handle.index;
    } else {
      slot_at(last_free_).next_free = handle.index;
    }
    last_free_ = handle.index;
    --size_;
  }

  // Visits in index order, which is the same on every machine.
  template <class F>
  void for_each(F visit) {
    for (std::uint32_t i = 0; i < made(); ++i) {
      if (Slot& slot = slot_at(i); slot.used) visit(slot.object);
    }
  }
  // The same for the slots from `from` on, `slots` of them at most. Returns the next one; none if
  // there are no more.
  template <class F>
  std::optional<std::uint32_t> for_some(std::uint32_t from, std::uint32_t slots, F visit) {
    const std::uint32_t end = made() - std::min(from, made()) > slots ? from + slots : made();
    for (std::uint32_t i = from; i < end; ++i) {
      if (Slot& slot = slot_at(i); slot.used) visit(slot.object);
    }
    return end < made() ? std::optional{end} : std::nullopt;
  }

 private:
  static constexpr std::uint32_t kFirst = 4;  // slots in the first chunk
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // What a look-up checks comes first, in the cache line in which a large object begins.
  struct alignas(sizeof(T) < 64 ? alignof(T) : 64) Slot {
    Slot() {}
    ~Slot() {
      if (used) object.~T();
    }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    template <class... Args>
    void fill(Args&&... args) {
      CHECK(!used);
      std::construct_at(&object, std::forward<Args>(args)...);
      used = true;
    }
    void clear() {
      std::destroy_at(&object);
      used = false;
    }

    std::uint32_t generation{1};
    std::uint32_t next_free{kNone};
    bool used{};
    union {
      T object;  // while used
    };
  };

  [[nodiscard]] std::uint32_t made() const { return made_.load(std::memory_order_acquire); }

  Slot& slot_at(std::uint32_t index) {
    if (index < kFirst) return first_[index];
    const std::uint32_t before = std::bit_floor(index);
    return later_[chunk_of(index)][index - before];
  }

  // Chunk n of `later_` holds the indices that have n + 3 bits.
  static std::size_t chunk_of(std::uint32_t index) {
    return static_cast<std::size_t>(std::bit_width(index / kFirst)) - 1;
  }

  void grow() {
    const std::uint32_t made = made_.load(std::memory_order_relaxed);
    if (made == 0) {
      first_ = std::make_unique<Slot[]>(kFirst);
    } else {
      if (!later_) later_ = std::make_unique<Chunk[]>(chunk_of(limit_) + 1);
      later_[chunk_of(made)] = std::make_unique<Slot[]>(made);
    }
    room_ = made == 0 ? kFirst : 2 * made;
  }

  std::uint32_t take_index() {
    // Prefer a fresh slot to a used one: a freed number then stays unused longer.
    const std::uint32_t made = made_.load(std::memory_order_relaxed);
    if (made < limit_ && (first_free_ == kNone || made < room_)) {
      if (made == room_) grow();
      made_.store(made + 1, std::memory_order_release);
      return made;
    }
    const std::uint32_t index = first_free_;
    first_free_ = slot_at(index).next_free;
    if (first_free_ == kNone) last_free_ = kNone;
    return index;
  }

  using Chunk = std::unique_ptr<Slot[]>;

  Chunk first_;
  std::uint32_t limit_;
  std::atomic<std::uint32_t> made_{};
  std::uint32_t room_{};            // slots in all chunks
  std::unique_ptr<Chunk[]> later_;  // sized for the table's limit, so that chunk pointers never
                                    // move
  std::uint32_t size_{};
  std::uint32_t first_free_{kNone};
  std::uint32_t last_free_{kNone};
};

}  // namespace nerve
