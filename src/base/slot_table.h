// Objects with stable addresses, named by handles that outlive them safely.
//
// A handle is an index and the generation of its slot; a stale handle finds nothing. Slots are
// made in chunks as the table grows, each as large as all before it, so that an engine with few
// objects is small and a pointer into the table holds until its object is erased. Free slots are
// reused oldest first, so that a number seen on the wire rests as long as possible before it means
// something else.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/fetch_lines.h"

namespace nerve {

template <class T>
struct Handle {
  std::uint32_t index{};
  std::uint32_t generation{};  // zero names nothing
  friend constexpr bool operator==(Handle, Handle) = default;
  constexpr explicit operator bool() const { return generation != 0; }
};

template <class T>
class SlotTable {
 public:
  explicit SlotTable(std::uint32_t limit) : limit_{limit} {}

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] bool full() const { return size_ == limit_; }

  // The caller has seen that the table is not full.
  template <class... Args>
  std::pair<Handle<T>, T&> emplace(Args&&... args) {
    CHECK(!full());
    const std::uint32_t index = take_index();
    Slot& slot = slot_at(index);
    CHECK(!slot.object);
    slot.object.emplace(std::forward<Args>(args)...);
    ++size_;
    return {Handle<T>{index, slot.generation}, *slot.object};
  }

  [[nodiscard]] T* find(Handle<T> handle) {
    if (handle.index >= made_) return nullptr;
    Slot& slot = slot_at(handle.index);
    return slot.generation == handle.generation && slot.object ? &*slot.object : nullptr;
  }
  [[nodiscard]] const T* find(Handle<T> handle) const {
    return const_cast<SlotTable*>(this)->find(handle);  // find() itself changes nothing
  }
  // By index alone, for numbers that the wire carries without a generation.
  [[nodiscard]] T* at(std::uint32_t index) {
    if (index >= made_) return nullptr;
    Slot& slot = slot_at(index);
    return slot.object ? &*slot.object : nullptr;
  }

  // Into the cache: the first object.
  void fetch() const { fetch_lines(first_.get(), first_.get() + 1); }

  void erase(Handle<T> handle) {
    CHECK(find(handle) != nullptr);
    Slot& slot = slot_at(handle.index);
    slot.object.reset();
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

  // In index order, which is the same on every machine.
  template <class F>
  void for_each(F visit) {
    for (std::uint32_t i = 0; i < made_; ++i) {
      if (Slot& slot = slot_at(i); slot.object) visit(*slot.object);
    }
  }

 private:
  static constexpr std::uint32_t kFirst = 4;  // in the first chunk
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Slot {
    std::optional<T> object;
    std::uint32_t generation{1};
    std::uint32_t next_free{kNone};
  };

  Slot& slot_at(std::uint32_t index) {
    if (index < kFirst) return first_[index];
    const std::uint32_t before = std::bit_floor(index);
    return later_[static_cast<std::size_t>(std::bit_width(before / kFirst)) - 1][index - before];
  }

  void grow() {
    if (made_ == 0) {
      first_ = std::make_unique<Slot[]>(kFirst);
    } else {
      later_.push_back(std::make_unique<Slot[]>(made_));
    }
    room_ = made_ == 0 ? kFirst : 2 * made_;
  }

  std::uint32_t take_index() {
    // A fresh slot before a used one: numbers rest longest that way.
    if (made_ < limit_ && (first_free_ == kNone || made_ < room_)) {
      if (made_ == room_) grow();
      return made_++;
    }
    const std::uint32_t index = first_free_;
    first_free_ = slot_at(index).next_free;
    if (first_free_ == kNone) last_free_ = kNone;
    return index;
  }

  std::unique_ptr<Slot[]> first_;
  std::uint32_t limit_;
  std::uint32_t made_{};
  std::uint32_t room_{};  // in all chunks
  std::vector<std::unique_ptr<Slot[]>> later_;
  std::uint32_t size_{};
  std::uint32_t first_free_{kNone};
  std::uint32_t last_free_{kNone};
};

}  // namespace nerve
