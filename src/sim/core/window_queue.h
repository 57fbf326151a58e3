// Events that are scheduled within a window of time, for EventWheel. Most are scheduled in the
// order of time, but not all, and a large switch has a hundred of them at once.
//
// The window is cut into 64 slices. A slice holds few events, in order; a word tells which slices
// have any.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

// Item has a time `when`, and precedes() compares items. What is equal stays in order.
template <class Item>
class WindowQueue {
 public:
  [[nodiscard]] bool empty() const { return in_use_ == 0; }

  // It must be empty.
  void open(Time begin, Time end) {
    begin_ = begin;
    const auto length = static_cast<std::uint64_t>((end - begin).count());
    shift_ = static_cast<unsigned>(std::bit_width(length / kSlices));
  }
  // Neither before the window, nor before what was removed.
  void push(const Item& item) {
    const auto into = static_cast<std::uint64_t>((item.when - begin_).count()) >> shift_;
    Slice& slice = slices_[into];
    in_use_ |= std::uint64_t{1} << into;
    std::size_t i = slice.items.size();
    slice.items.push_back(item);
    for (; i > slice.at && item.precedes(slice.items[i - 1]); --i) {
      slice.items[i] = slice.items[i - 1];
    }
    slice.items[i] = item;
  }
  [[nodiscard]] const Item& front() const {
    const Slice& first = slices_[first_slice()];
    return first.items[first.at];
  }
  void pop() {
    const std::size_t number = first_slice();
    Slice& first = slices_[number];
    if (++first.at < first.items.size()) return;
    first.items.clear();
    first.at = 0;
    in_use_ &= ~(std::uint64_t{1} << number);
  }

 private:
  static constexpr std::size_t kSlices = 64;
  struct Slice {
    std::vector<Item> items;
    std::size_t at{};  // those before are removed
  };
  [[nodiscard]] std::size_t first_slice() const {
    return static_cast<std::size_t>(std::countr_zero(in_use_));
  }

  Time begin_{};
  unsigned shift_{};  // from picoseconds in the window to the slice
  std::uint64_t in_use_{};
  std::array<Slice, kSlices> slices_;
};

}  // namespace nerve::sim
