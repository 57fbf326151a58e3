// A buffer cut into parts of nearly equal size: the first few are one byte longer.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nerve::sim {

class Shares {
 public:
  Shares(std::uint64_t bytes, std::uint32_t parts) : each_{bytes / parts}, longer_{bytes % parts} {}

  [[nodiscard]] std::uint64_t offset(std::uint32_t part) const {
    return each_ * part + std::min<std::uint64_t>(part, longer_);
  }
  [[nodiscard]] std::uint64_t bytes(std::uint32_t part) const {
    return each_ + (part < longer_ ? 1 : 0);
  }

 private:
  std::uint64_t each_;
  std::uint64_t longer_;
};

}  // namespace nerve::sim
