// A memory port for simulated hosts: it has addresses but no contents.
#pragma once

#include <cstdint>

#include "base/memory_port.h"

namespace nerve {

class NoContents final : public MemoryPort {
 public:
  void read(std::uint64_t, MutableBytes) override {}
  void write(std::uint64_t, Bytes) override {}
  std::uint64_t compare_swap(std::uint64_t, std::uint64_t, std::uint64_t) override { return 0; }
  std::uint64_t fetch_add(std::uint64_t, std::uint64_t) override { return 0; }
  void store_word(std::uint64_t, std::uint64_t) override {}
  [[nodiscard]] bool has_contents() const override { return false; }
};

}  // namespace nerve
