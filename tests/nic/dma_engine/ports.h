// Memory outside the host: a GPU whose bytes only its port can access, and memory without contents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/memory_port.h"

namespace nerve::test {

class FakeGpu : public MemoryPort {
 public:
  FakeGpu(std::uint64_t base, std::size_t size) : memory(size), base_{base} {}

  void read(std::uint64_t address, MutableBytes into) override {
    std::copy_n(at(address, into.size()), into.size(), into.begin());
  }
  void write(std::uint64_t address, Bytes from) override {
    std::copy(from.begin(), from.end(), at(address, from.size()));
  }
  std::uint64_t compare_swap(std::uint64_t address, std::uint64_t expected,
                             std::uint64_t desired) override {
    const std::uint64_t before = word(address);
    if (before == expected) store_word(address, desired);
    return before;
  }
  std::uint64_t fetch_add(std::uint64_t address, std::uint64_t addend) override {
    const std::uint64_t before = word(address);
    store_word(address, before + addend);
    return before;
  }
  void store_word(std::uint64_t address, std::uint64_t value) override {
    std::memcpy(&*at(address, sizeof value), &value, sizeof value);
  }

  std::vector<std::byte> memory;

 private:
  std::vector<std::byte>::iterator at(std::uint64_t address, std::size_t length) {
    CHECK(address >= base_ && address - base_ <= memory.size());
    CHECK(length <= memory.size() - (address - base_));
    return memory.begin() + static_cast<std::ptrdiff_t>(address - base_);
  }
  std::uint64_t word(std::uint64_t address) {
    std::uint64_t value{};
    std::memcpy(&value, &*at(address, sizeof value), sizeof value);
    return value;
  }

  std::uint64_t base_;
};

// Fails if bytes are moved through it without asking has_contents().
class VoidPort : public MemoryPort {
 public:
  void read(std::uint64_t, MutableBytes) override { CHECK(false); }
  void write(std::uint64_t, Bytes) override { CHECK(false); }
  std::uint64_t compare_swap(std::uint64_t, std::uint64_t, std::uint64_t) override {
    CHECK(false);
    return 0;
  }
  std::uint64_t fetch_add(std::uint64_t, std::uint64_t) override {
    CHECK(false);
    return 0;
  }
  void store_word(std::uint64_t, std::uint64_t) override { CHECK(false); }
  [[nodiscard]] bool has_contents() const override { return false; }
};

}  // namespace nerve::test
