// Values drawn from a fuzzer's bytes; zeros when they run out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace nerve::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : left_{reinterpret_cast<const std::byte*>(data), size} {}

  [[nodiscard]] bool empty() const { return left_.empty(); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const std::byte b : take(bytes)) value = value << 8U | std::to_integer<std::uint8_t>(b);
    return value;
  }
  Bytes take(std::size_t most) {
    const Bytes some = left_.first(std::min(most, left_.size()));
    left_ = left_.subspan(some.size());
    return some;
  }

 private:
  Bytes left_;
};

}  // namespace nerve::fuzz
