// Memory whose contents are a function of the address, so nothing is stored. A read returns the
// pattern; a write is checked against it. A simulation can thus carry real payload and detect a
// byte at the wrong place, provided that every WRITE has equal source and target addresses.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/memory_port.h"

namespace nerve::sim {

class CheckedMemory final : public MemoryPort {
 public:
  void read(std::uint64_t address, MutableBytes into) override {
    for (std::byte& one : into) one = pattern(address++);
  }
  void write(std::uint64_t address, Bytes from) override {
    std::uint64_t wrong = 0;
    for (const std::byte one : from) wrong += one != pattern(address++) ? 1U : 0U;
    wrong_.fetch_add(wrong, std::memory_order_relaxed);
    checked_.fetch_add(from.size(), std::memory_order_relaxed);
  }
  // Not used: simulations post no atomics.
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

  std::atomic<std::uint64_t> checked_{};
  std::atomic<std::uint64_t> wrong_{};
};

}  // namespace nerve::sim
