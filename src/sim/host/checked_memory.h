// Memory whose contents follow from the address, so that it needs no room: what is read is the
// pattern, what is written must be. With it a simulation carries real payload and notices a byte
// that arrives at the wrong place, provided that every WRITE goes to the address it comes from.
#pragma once

#include <cstdint>

#include "base/memory_port.h"

namespace nerve::sim {

class CheckedMemory final : public MemoryPort {
 public:
  void read(std::uint64_t address, MutableBytes into) override {
    for (std::byte& one : into) one = pattern(address++);
  }
  void write(std::uint64_t address, Bytes from) override {
    for (const std::byte one : from) wrong_ += one != pattern(address++) ? 1U : 0U;
    checked_ += from.size();
  }
  // Nobody uses atomics on it.
  std::uint64_t compare_swap(std::uint64_t, std::uint64_t, std::uint64_t) override { return 0; }
  std::uint64_t fetch_add(std::uint64_t, std::uint64_t) override { return 0; }
  void store_word(std::uint64_t, std::uint64_t) override {}

  [[nodiscard]] std::uint64_t checked() const { return checked_; }  // bytes
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }

 private:
  static std::byte pattern(std::uint64_t address) {
    const std::uint64_t mixed = (address + 1) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::byte>(mixed >> 56U);
  }

  std::uint64_t checked_{};
  std::uint64_t wrong_{};
};

}  // namespace nerve::sim
