// An array whose size is fixed at creation; queues are built from it. Unlike a vector it cannot
// grow by accident on the data path, and an empty one takes sixteen bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"

namespace nerve {

template <class T>
class FixedArray {
 public:
  FixedArray() = default;
  explicit FixedArray(std::uint32_t size)
      : items_{size > 0 ? std::make_unique<T[]>(size) : nullptr}, size_{size} {}
  // Not defaulted, because a moved-from array must not keep the size of items it no longer owns.
  FixedArray(FixedArray&& other) noexcept
      : items_{std::move(other.items_)}, size_{std::exchange(other.size_, 0)} {}
  FixedArray& operator=(FixedArray&& other) noexcept {
    items_ = std::move(other.items_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] T* data() { return items_.get(); }
  [[nodiscard]] const T* data() const { return items_.get(); }
  T& operator[](std::size_t i) {
    CHECK(i < size_);
    return items_[i];
  }
  const T& operator[](std::size_t i) const {
    CHECK(i < size_);
    return items_[i];
  }

 private:
  std::unique_ptr<T[]> items_;
  std::uint32_t size_{};
};

}  // namespace nerve
